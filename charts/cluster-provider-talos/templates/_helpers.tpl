{{/* Name of everything that the release makes. Helm's usual rule: a release that is named like the chart is not named twice. */}}
{{- define "provider.name" -}}
{{- $name := contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "provider.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "provider.name" .) -}}
{{- end -}}

{{/* What Pods are found by. It must never change. */}}
{{- define "provider.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "provider.labels" -}}
{{ include "provider.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Both commands are told the same about who they are. */}}
{{- define "provider.args" -}}
- --environment={{ .Values.environment }}
- --verbosity={{ .Values.verbosity }}
- --provider-name={{ .Values.providerName }}
{{- end -}}

{{/* What both containers have in common. */}}
{{- define "provider.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
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
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}

{{- /* The Secret with the certificate of the status page; empty if none is used. */}}
{{- define "provider.statusCertificate" -}}
{{- with .Values.statusPage }}{{ if and .enabled .service }}{{ .certificateSecret }}{{ end }}{{ end }}
{{- end }}
