{{/*
What a pod needs to be wrapped. Each template takes the root context (.) of the chart that includes it, and reads
.Values.tidegate. See charts/demo for all of them in their places.
*/}}

{{- define "tidegate.values" -}}
{{- if not (hasKey .Values "tidegate") -}}
{{- fail "tidegate: there is no .Values.tidegate; depend on the chart under its own name, without an alias" -}}
{{- end -}}
{{- end -}}

{{/* spec.terminationGracePeriodSeconds of the pod. */}}
{{- define "tidegate.gracePeriodSeconds" -}}
{{- include "tidegate.values" . -}}
{{- int .Values.tidegate.terminationGracePeriodSeconds -}}
{{- end -}}

{{/* spec.minReadySeconds of the Deployment, StatefulSet or DaemonSet. */}}
{{- define "tidegate.minReadySeconds" -}}
{{- int .Values.tidegate.propagationSeconds -}}
{{- end -}}

{{/* An item of initContainers. */}}
{{- define "tidegate.initContainer" -}}
- name: tidegate
  image: {{ .Values.tidegate.image | quote }}
  command: [/tidegate, install, /tidegate-bin]
  volumeMounts:
    - name: tidegate
      mountPath: /tidegate-bin
  resources:
    requests:
      cpu: 10m
      memory: 16Mi
    limits:
      memory: 64Mi
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop: [ALL]
{{- end -}}

{{/* An item of volumes. */}}
{{- define "tidegate.volume" -}}
- name: tidegate
  emptyDir:
    sizeLimit: 64Mi
{{- end -}}

{{/* An item of the container's volumeMounts. */}}
{{- define "tidegate.volumeMount" -}}
- name: tidegate
  mountPath: /tidegate-bin
  readOnly: true
{{- end -}}

{{/* The first items of the container's command; the program's own follow. */}}
{{- define "tidegate.command" -}}
- /tidegate-bin/tidegate
- run
- "--"
{{- end -}}

{{/* An item of the container's ports. */}}
{{- define "tidegate.port" -}}
- name: health
  containerPort: {{ int .Values.tidegate.port }}
{{- end -}}

{{/* tidegate's settings, as YAML. */}}
{{- define "tidegate.config" -}}
{{- $config := deepCopy .Values.tidegate.config -}}
{{- $_ := set $config "terminationGracePeriodSeconds" (int .Values.tidegate.terminationGracePeriodSeconds) -}}
{{- $drain := deepCopy (default dict $config.drain) -}}
{{- $_ := set $drain "propagation" (printf "%ds" (int .Values.tidegate.propagationSeconds)) -}}
{{- $_ := set $config "drain" $drain -}}
{{- $health := deepCopy (default dict $config.health) -}}
{{- $_ := set $health "listen" (printf "0.0.0.0:%d" (int .Values.tidegate.port)) -}}
{{- with .Values.tidegate.service -}}
{{- $services := default (list "") $health.services -}}
{{- if not (has . $services) -}}
{{- $services = append $services . -}}
{{- end -}}
{{- $_ := set $health "services" $services -}}
{{- end -}}
{{- $_ := set $config "health" $health -}}
{{- toYaml $config -}}
{{- end -}}

{{/* An item of the container's env. A $ is doubled, for the kubelet replaces $(NAME) in values. */}}
{{- define "tidegate.env" -}}
- name: TIDEGATE_CONFIG
  value: |
    {{- include "tidegate.config" . | replace "$" "$$" | nindent 4 }}
{{- end -}}

{{/* The container's readinessProbe. */}}
{{- define "tidegate.readinessProbe" -}}
grpc:
  port: {{ int .Values.tidegate.port }}
  {{- with .Values.tidegate.service }}
  service: {{ . | quote }}
  {{- end }}
periodSeconds: {{ min 2 (int .Values.tidegate.propagationSeconds) }}
failureThreshold: 1
{{- end -}}

{{/* The container's livenessProbe, for programs that have none of their own. */}}
{{- define "tidegate.livenessProbe" -}}
grpc:
  port: {{ int .Values.tidegate.port }}
  service: liveness
periodSeconds: 10
failureThreshold: 3
{{- end -}}
