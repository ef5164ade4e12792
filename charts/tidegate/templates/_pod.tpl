{{/*
What a pod needs. Each template takes the root context (.) of the chart that includes it, and reads .Values.tidegate; those
that have nothing to say in its mode are empty. See charts/demo for all of them in their places.
*/}}

{{- define "tidegate.values" -}}
{{- if not (hasKey .Values "tidegate") -}}
{{- fail "tidegate: there is no .Values.tidegate; depend on the chart under its own name, without an alias" -}}
{{- end -}}
{{- end -}}

{{/* "true" where tidegate is around the program, empty where it is beside. */}}
{{- define "tidegate.wraps" -}}
{{- include "tidegate.values" . -}}
{{- if ne .Values.tidegate.mode "sidecar" -}}true{{- end -}}
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

{{/* An item of initContainers, the first: it brings the binary, or it is the sidecar. */}}
{{- define "tidegate.initContainer" -}}
- name: tidegate
  image: {{ .Values.tidegate.image | quote }}
{{- if include "tidegate.wraps" . }}
  command: [/tidegate, install, /tidegate-bin]
  volumeMounts:
    - name: tidegate
      mountPath: /tidegate-bin
{{- else }}
{{- include "tidegate.sidecar" . | nindent 2 }}
{{- end }}
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
{{- if include "tidegate.wraps" . -}}
- name: tidegate
  emptyDir:
    sizeLimit: 64Mi
{{- end -}}
{{- end -}}

{{/* An item of the container's volumeMounts. */}}
{{- define "tidegate.volumeMount" -}}
{{- if include "tidegate.wraps" . -}}
- name: tidegate
  mountPath: /tidegate-bin
  readOnly: true
{{- end -}}
{{- end -}}

{{/* The first items of the container's command; the program's own follow. */}}
{{- define "tidegate.command" -}}
{{- if include "tidegate.wraps" . -}}
- /tidegate-bin/tidegate
- run
- "--"
{{- end -}}
{{- end -}}

{{/* An item of the container's ports. */}}
{{- define "tidegate.port" -}}
{{- if include "tidegate.wraps" . -}}
- name: health
  containerPort: {{ int .Values.tidegate.port }}
{{- end -}}
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
{{- if not (include "tidegate.wraps" .) -}}
{{- $lifecycle := deepCopy (default dict $config.lifecycle) -}}
{{- $_ := set $lifecycle "listen" (printf "0.0.0.0:%d" (int .Values.tidegate.hookPort)) -}}
{{- $_ := set $config "lifecycle" $lifecycle -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Items of the container's env. */}}
{{- define "tidegate.env" -}}
{{- if include "tidegate.wraps" . -}}
{{- include "tidegate.variable" . -}}
{{- end -}}
{{- end -}}

{{/*
The settings' variable, behind those of the pod's fields that the settings name. Any other $ is doubled, for the kubelet
replaces $(NAME) in values.
*/}}
{{- define "tidegate.variable" -}}
{{- $text := include "tidegate.config" . | replace "$" "$$" -}}
{{- range $name, $field := dict "POD_IP" "status.podIP" "HOST_IP" "status.hostIP" "POD_NAME" "metadata.name" "POD_NAMESPACE" "metadata.namespace" "NODE_NAME" "spec.nodeName" -}}
{{- $doubled := printf "$$(%s)" $name -}}
{{- if contains $doubled $text -}}
{{- $text = replace $doubled (printf "$(%s)" $name) $text -}}
- name: {{ $name }}
  valueFrom:
    fieldRef:
      fieldPath: {{ $field }}
{{ end -}}
{{- end -}}
- name: TIDEGATE_CONFIG
  value: |
    {{- $text | nindent 4 }}
{{- end -}}

{{/* The readinessProbe of a wrapped program's container; a sidecar has it already, and the program beside it its own. */}}
{{- define "tidegate.readinessProbe" -}}
grpc:
  port: {{ int .Values.tidegate.port }}
  {{- with .Values.tidegate.service }}
  service: {{ . | quote }}
  {{- end }}
periodSeconds: {{ min 2 (int .Values.tidegate.propagationSeconds) }}
failureThreshold: 1
{{- end -}}

{{/* The livenessProbe of a wrapped program's container, where the program has none of its own. */}}
{{- define "tidegate.livenessProbe" -}}
grpc:
  port: {{ int .Values.tidegate.port }}
  service: liveness
periodSeconds: 10
failureThreshold: 3
{{- end -}}
