{{/*
What only a pod with a sidecar needs; empty where the program is wrapped.
*/}}

{{/* The sidecar's own part of its container: an init container with restartPolicy Always starts first and is stopped last. */}}
{{- define "tidegate.sidecar" -}}
{{- if semverCompare "<1.29.0-0" .Capabilities.KubeVersion.Version -}}
{{- fail "tidegate: mode sidecar needs native sidecars, which Kubernetes has since 1.29; write mode: wrap" -}}
{{- end -}}
restartPolicy: Always
command: [/tidegate, sidecar]
env:
  {{- include "tidegate.variable" . | nindent 2 }}
ports:
  - name: health
    containerPort: {{ int .Values.tidegate.port }}
  - name: prestop
    containerPort: {{ int .Values.tidegate.hookPort }}
readinessProbe:
  {{- include "tidegate.readinessProbe" . | nindent 2 }}
{{- with .Values.tidegate.volumeMounts }}
volumeMounts:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The program's container's lifecycle: its preStop hook calls the sidecar. */}}
{{- define "tidegate.lifecycle" -}}
{{- if not (include "tidegate.wraps" .) -}}
preStop:
  httpGet:
    path: /prestop
    port: {{ int .Values.tidegate.hookPort }}
    {{- with .Values.tidegate.hookHeaders }}
    httpHeaders:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end -}}
{{- end -}}

{{/* "true" where the pod's containers have to share their processes: spec.shareProcessNamespace. */}}
{{- define "tidegate.shareProcessNamespace" -}}
{{- if and (not (include "tidegate.wraps" .)) .Values.tidegate.config.target -}}true{{- end -}}
{{- end -}}
