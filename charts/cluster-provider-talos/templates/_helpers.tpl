{{/* Name of everything that the release makes. Helm's usual rule: a release that is named like the chart is not named twice. */}}
{{- define "provider.name" -}}
{{- $chart := include "provider.chartName" . -}}
{{- $name := contains $chart .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $chart) -}}
{{- .Values.fullnameOverride | default $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "provider.chartName" -}}
{{- .Values.nameOverride | default .Chart.Name -}}
{{- end -}}

{{- define "provider.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "provider.name" .) -}}
{{- end -}}

{{/* What Pods are found by. It must never change. */}}
{{- define "provider.selector" -}}
app.kubernetes.io/name: {{ include "provider.chartName" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels of every object. Those of users never replace the chart's own, which Services and Helm rely on. */}}
{{- define "provider.labels" -}}
{{- include "provider.ownLabels" . | fromYaml | mergeOverwrite (deepCopy .Values.commonLabels) | toYaml -}}
{{- end -}}

{{- define "provider.podLabels" -}}
{{- include "provider.labels" . | fromYaml | mergeOverwrite (deepCopy .Values.podLabels) | toYaml -}}
{{- end -}}

{{- define "provider.ownLabels" -}}
{{ include "provider.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* With a digest, the tag is only for readers. */}}
{{- define "provider.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}{{ with .tag }}:{{ . }}{{ end }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Both commands are told the same about who they are. */}}
{{- define "provider.args" -}}
- --environment={{ .Values.environment }}
- --verbosity={{ .Values.verbosity }}
- --provider-name={{ .Values.providerName }}
{{- end -}}

{{/* What both containers have in common. */}}
{{- define "provider.container" -}}
image: {{ include "provider.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
env:
  - name: POD_NAME
    valueFrom: { fieldRef: { fieldPath: metadata.name } }
  - name: POD_NAMESPACE
    valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
  - name: POD_IP
    valueFrom: { fieldRef: { fieldPath: status.podIP } }
  - name: POD_SERVICE_ACCOUNT_NAME
    valueFrom: { fieldRef: { fieldPath: spec.serviceAccountName } }
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The Secret with the certificate of the status page; empty if none is used. */}}
{{- define "provider.statusCertificate" -}}
{{- with .Values.statusPage }}{{ if and .enabled .service }}{{ .certificateSecret }}{{ end }}{{ end }}
{{- end }}
