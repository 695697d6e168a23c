{{/*
The metadata of an object.
  root: the context of the chart; name; app: the component that it belongs to, or none; labels, annotations: more of them, or none
*/}}
{{- define "waymark.metadata" -}}
{{- $labels := dict "app.kubernetes.io/part-of" "waymark" "app.kubernetes.io/instance" .root.Release.Name }}
{{- $_ := set $labels "app.kubernetes.io/managed-by" .root.Release.Service }}
{{- $_ := set $labels "app.kubernetes.io/version" .root.Chart.AppVersion }}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) }}
{{- with .app }}
{{- $_ := set $labels "app.kubernetes.io/name" . }}
{{- end -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- merge $labels (.labels | default dict) | toYaml | nindent 2 }}
{{- with .annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
A selector of pods by the names of their components.
  apps: the names; none: all components
*/}}
{{- define "waymark.selector" -}}
{{- if not .apps -}}
matchLabels: {app.kubernetes.io/part-of: waymark}
{{- else if eq (len .apps) 1 -}}
matchLabels: {app.kubernetes.io/name: {{ first .apps }}}
{{- else -}}
matchExpressions: [{key: app.kubernetes.io/name, operator: In, values: {{ toJson .apps }}}]
{{- end }}
{{- end }}

{{/*
The bits of an address, as 32 or 128 characters; others if it is none.
*/}}
{{- define "waymark.bits" -}}
{{- if contains ":" . }}
{{- $halves := splitList "::" . }}
{{- $groups := compact (splitList ":" (first $halves)) }}
{{- if gt (len $halves) 1 }}
{{- $right := compact (splitList ":" (last $halves)) }}
{{- range until (sub 8 (len (concat $groups $right)) | max 0 | int) }}
{{- $groups = append $groups "0" }}
{{- end }}
{{- $groups = concat $groups $right }}
{{- end }}
{{- range $groups }}{{ printf "0x%s" . | int64 | printf "%016b" }}{{ end }}
{{- else }}
{{- range splitList "." . }}{{ int . | printf "%08b" }}{{ end }}
{{- end }}
{{- end }}

{{/*
The bits that all addresses of a network begin with. Fails unless it is one.
  where: the value that has it; network
*/}}
{{- define "waymark.network" -}}
{{- $byte := "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])" }}
{{- $ipv4 := printf `%s(\.%s){3}/([12]?[0-9]|3[0-2])` $byte $byte }}
{{- $group := "[0-9A-Fa-f]{1,4}" }}
{{- $some := printf "(%s(:%s){0,6})?" $group $group }}
{{- $ipv6 := printf "(%s(:%s){7}|%s::%s)/([1-9]?[0-9]|1[01][0-9]|12[0-8])" $group $group $some $some }}
{{- $parts := splitList "/" .network }}
{{- $bits := include "waymark.bits" (first $parts) }}
{{- if not (and (regexMatch (printf "^(%s|%s)$" $ipv4 $ipv6) .network) (has (len $bits) (list 32 128))) }}
{{- fail (printf "%s: %s must be a network, like 10.1.2.0/24, 10.1.2.3/32 or fd00::/64" .where .network) }}
{{- end }}
{{- $length := last $parts | int }}
{{- if contains "1" (substr $length (len $bits) $bits) }}
{{- fail (printf "%s: %s is an address in a network, not the network" .where .network) }}
{{- end }}
{{- substr 0 $length $bits }}
{{- end }}

{{/*
The number that a quantity of Kubernetes is, like 0.5, 500m or 2Gi.
*/}}
{{- define "waymark.quantity" -}}
{{- $units := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 }}
{{- if kindIs "string" . }}
{{- mulf (regexFind "^[0-9.]+" . | float64) (get $units (regexFind "[A-Za-z]+$" .) | default 1.0) }}
{{- else }}
{{- . }}
{{- end }}
{{- end }}

{{/*
The name of an image.
  root; name
*/}}
{{- define "waymark.image" -}}
{{- $images := .root.Values.images -}}
{{ $images.registry }}/{{ .name }}:{{ $images.tag | default .root.Chart.AppVersion }}{{ with get ($images.digests | default dict) .name }}@{{ . }}{{ end }}
{{- end }}

{{- define "waymark.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/*
The variables by which the pods of a component reach its stores.
  root; name; stores: the names of the stores; as: the component whose logins it has, if not its own
*/}}
{{- define "waymark.stores" -}}
{{- $values := .root.Values }}
{{- if has "postgres" .stores }}
PG_URL_FILE: /run/secrets/waymark/pg-url
{{- if $values.postgres.tls }}
PGSSLMODE: verify-{{ $values.postgres.verify }}
PGSSLROOTCERT: /run/waymark/authorities/postgres.pem
{{- end }}
{{- end }}
{{- if has "redis" .stores }}
REDIS_URL_FILE: /run/secrets/waymark/redis-url
{{- if eq $values.redis.tls "client" }}
REDIS_SSL_CA_FILE: /run/waymark/authorities/redis.pem
{{- end }}
{{- end }}
{{- if has "kafka" .stores }}
{{- $sasl := not (has $values.kafka.mechanism (list "certificate" "none")) }}
KAFKA_BROKERS: {{ join "," $values.kafka.brokers | quote }}
KAFKA_SECURITY_PROTOCOL: {{ ternary "sasl_" "" $sasl }}{{ ternary "ssl" "plaintext" $values.kafka.tls }}
{{- if $values.kafka.tls }}
KAFKA_SSL_CA_FILE: /run/waymark/authorities/kafka.pem
{{- end }}
{{- if eq $values.kafka.mechanism "certificate" }}
KAFKA_SSL_CERTIFICATE_FILE: /run/secrets/waymark/kafka.crt
KAFKA_SSL_KEY_FILE: /run/secrets/waymark/kafka.key
{{- end }}
{{- if $sasl }}
KAFKA_SASL_MECHANISM: {{ $values.kafka.mechanism }}
KAFKA_SASL_USERNAME: {{ get $values.kafka.users (.as | default .name) | quote }}
KAFKA_SASL_PASSWORD_FILE: /run/secrets/waymark/kafka-password
{{- with $values.kafka.tokenUrl }}
KAFKA_SASL_TOKEN_URL: {{ quote . }}
{{- end }}
{{- with $values.kafka.scope }}
KAFKA_SASL_SCOPE: {{ quote . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The files that the Secrets of a component must have, as waymark.pod.
*/}}
{{- define "waymark.files" -}}
{{- $mechanism := .root.Values.kafka.mechanism -}}
{{- if has "postgres" .stores }}pg-url{{ end -}}
{{- if has "redis" .stores }} redis-url{{ end -}}
{{- if has "kafka" .stores }}{{ get (dict "certificate" " kafka.crt kafka.key" "none" "") $mechanism | default (ternary "" " kafka-password" (eq $mechanism "none")) }}{{ end -}}
{{- if eq .name "links-api" }} jwt-secret{{ end -}}
{{- if and (eq .name "janitor") .root.Values.mail.enabled }} smtp-url{{ end -}}
{{- end }}

{{/*
How many seconds a component that ends still accepts requests.
*/}}
{{- define "waymark.notice" -}}
{{- div (.config.DRAIN_NOTICE_MS | default "5000" | int) 1000 }}
{{- end }}

{{/*
The variables of the two services that visitors and users ask.
*/}}
{{- define "waymark.http" -}}
OPS_PORT: "9090"
DRAIN_NOTICE_MS: "5000"
PUBLIC_BASE_URL: {{ .Values.hosts.scheme }}://{{ .Values.hosts.links }}
DASHBOARD_URL: {{ .Values.hosts.scheme }}://{{ .Values.hosts.api }}/app/
TRUSTED_PROXIES: {{ join "," .Values.trustedProxies | quote }}
{{- if .Values.tracing.enabled }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ quote .Values.tracing.endpoint }}
{{- end }}
{{- end }}

{{/*
The template of the pods of a component.
  root; name: of the component and its container; component: its values; stores: those that it connects to; as: the component whose
  logins it has, if not its own
  env: its other variables, as YAML; http: its port for requests; volumes, mounts: more of them, as lists
  grace: the seconds that it may take to end; startFailures: the seconds that it may take to start
  kind: of the object that has the template; a Job also has image, command and args
*/}}
{{- define "waymark.pod" -}}
{{- $values := .root.Values }}
{{- $pods := mergeOverwrite (deepCopy $values.pods) .component.pods }}
{{- $isJob := eq .kind "Job" }}
{{- $labels := dict "app.kubernetes.io/name" .name "app.kubernetes.io/part-of" "waymark" }}
{{- $annotations := deepCopy $pods.annotations }}
{{- $volumes := concat (.volumes | default list) $pods.extraVolumes }}
{{- $mounts := concat (.mounts | default list) $pods.extraVolumeMounts }}
{{- $hasStunnel := and (has "redis" .stores) (eq $values.redis.tls "stunnel") }}
{{- $sources := list }}
{{- $secret := .component.secret | default (ternary "" (.as | default .name) (gt (len .component.secretKeys) 0)) }}
{{- if not $secret }}
{{- range include "waymark.files" . | splitList " " }}
{{- if not (or (eq . "") (hasKey $.component.secretKeys .)) }}
{{- fail (printf "secretKeys of %s lack %s: name the key, or in secret the Secret that has it" ($.as | default $.name) .) }}
{{- end }}
{{- end }}
{{- end }}
{{- with $secret }}
{{- $sources = append $sources (dict "secret" (dict "name" .)) }}
{{- end }}
{{- range $file, $key := .component.secretKeys }}
{{- $sources = append $sources (dict "secret" (dict "name" $key.name "items" (list (dict "key" $key.key "path" $file)))) }}
{{- end }}
{{- if or (ne .name "topics") (ne $values.kafka.mechanism "none") }}
{{- $secrets := dict "projected" (dict "sources" $sources "defaultMode" 0o440) }}
{{- if not .component.secretKeys }}
{{- $secrets = dict "secret" (dict "secretName" $secret "defaultMode" 0o440) }}
{{- end }}
{{- $volumes = append $volumes (set $secrets "name" "secrets") }}
{{- $mounts = append $mounts (dict "name" "secrets" "mountPath" "/run/secrets/waymark" "readOnly" true) }}
{{- end }}
{{- $lacking := list }}
{{- range $file, $isUsed := dict "postgres.pem" $values.postgres.tls "kafka.pem" $values.kafka.tls "redis.pem" (ne $values.redis.tls "none") }}
{{- if and $isUsed (not (hasKey $values.authorityKeys $file)) }}
{{- $lacking = append $lacking $file }}
{{- end }}
{{- end }}
{{- if and $lacking (not $values.authorities) }}
{{- fail (printf "authorityKeys lack %s: name the key, or in authorities the ConfigMap that has it" (join ", " $lacking)) }}
{{- end }}
{{- if or $values.postgres.tls $values.kafka.tls (ne $values.redis.tls "none") }}
{{- $authorities := dict "name" "authorities" "configMap" (dict "name" $values.authorities) }}
{{- if $values.authorityKeys }}
{{- $parts := ternary (list (dict "configMap" (dict "name" $values.authorities))) list (gt (len $lacking) 0) }}
{{- range $file, $key := $values.authorityKeys }}
{{- $parts = append $parts (dict "secret" (dict "name" $key.name "items" (list (dict "key" $key.key "path" $file)))) }}
{{- end }}
{{- $authorities = dict "name" "authorities" "projected" (dict "sources" $parts) }}
{{- end }}
{{- $volumes = append $volumes $authorities }}
{{- $mounts = append $mounts (dict "name" "authorities" "mountPath" "/run/waymark/authorities" "readOnly" true) }}
{{- end }}
{{- if $hasStunnel }}
{{- $volumes = append $volumes (dict "name" "redis-tls" "configMap" (dict "name" "redis-tls")) }}
{{- $_ := set $annotations "checksum/redis-tls" (include "waymark.stunnel" .root | sha256sum) }}
{{- end }}
{{- if and $pods.securityContext.runAsNonRoot (eq (toString $pods.securityContext.runAsUser) "0") }}
{{- fail (printf "securityContext of %s: runAsUser 0 contradicts runAsNonRoot" .name) }}
{{- end }}
{{- range $name, $_ := $annotations }}
{{- if and $isJob (hasPrefix "reloader.stakater.com/" $name) }}
{{- fail (printf "annotations of %s: %s would run the Job at each change of a Secret. Give it to the pods of services alone" $.name $name) }}
{{- end }}
{{- end }}
{{- $names := ternary (list "journal") list (eq .name "redirector") }}
{{- range $volumes }}
{{- if and (has .name $names) (ne .name "journal") }}
{{- fail (printf "extraVolumes of %s: the chart has a volume %s itself, or two have this name" $.name .name) }}
{{- end }}
{{- $names = append $names .name }}
{{- end }}
{{- $paths := list }}
{{- range $mounts }}
{{- if not (has .name $names) }}
{{- fail (printf "extraVolumeMounts of %s: no volume is called %s" $.name .name) }}
{{- end }}
{{- if has .mountPath $paths }}
{{- fail (printf "extraVolumeMounts of %s: two are at %s" $.name .mountPath) }}
{{- end }}
{{- $paths = append $paths .mountPath }}
{{- end }}
{{- if not $isJob }}
{{- $annotations = merge $annotations (dict "prometheus.io/scrape" "true" "prometheus.io/port" "9090") }}
{{- end }}
{{- $env := mergeOverwrite (include "waymark.stores" . | fromYaml) (.env | fromYaml) }}
{{- with $env.Error }}
{{- fail . }}
{{- end }}
{{- range $pods.extraEnv }}
{{- if and (hasKey . "value") (hasKey $env .name) }}
{{- fail (printf "extraEnv: %s of %s has a value elsewhere: set that, or its config" .name $.name) }}
{{- end }}
{{- end }}
{{- $env = mergeOverwrite $env .component.config }}
{{- range $pods.extraEnv }}
{{- $env = omit $env .name }}
{{- end -}}
metadata:
  labels:
    {{- merge $labels $pods.labels | toYaml | nindent 4 }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if $isJob }}
  restartPolicy: Never
  {{- else }}
  serviceAccountName: {{ .name }}
  terminationGracePeriodSeconds: {{ .grace }}
  {{- end }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext:
    {{- toYaml $pods.securityContext | nindent 4 }}
  {{- with $values.images.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ quote . }}
    {{- end }}
  {{- end }}
  {{- with $pods.priorityClassName }}
  priorityClassName: {{ quote . }}
  {{- end }}
  {{- with $pods.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $pods.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $pods.affinity }}
  affinity:
    {{- toYaml $pods.affinity | nindent 4 }}
  {{- else if not $isJob }}
  # Over zones, and over nodes. These are two rules, because spread constraints ignore nodes that
  # lack a label of any of them, and not every cluster has zones.
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: topology.kubernetes.io/zone
            labelSelector:
              {{- include "waymark.selector" (dict "apps" (list .name)) | nindent 14 }}
            {{- if eq .kind "Deployment" }}
            matchLabelKeys: [pod-template-hash]
            {{- end }}
  {{- end }}
  {{- if $pods.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- range $pods.topologySpreadConstraints }}
    - {{ merge (dict "labelSelector" (dict "matchLabels" (dict "app.kubernetes.io/name" $.name))) . | toJson }}
    {{- end }}
  {{- else if not $isJob }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        {{- include "waymark.selector" (dict "apps" (list .name)) | nindent 8 }}
      {{- if eq .kind "Deployment" }}
      matchLabelKeys: [pod-template-hash]
      {{- end }}
  {{- end }}
  {{- if $hasStunnel }}
  initContainers:
    # A sidecar: it starts before the service and stops after it.
    - name: redis-tls
      image: {{ include "waymark.image" (dict "root" .root "name" "stunnel") }}
      imagePullPolicy: {{ $values.images.pullPolicy }}
      restartPolicy: Always
      args: [/run/waymark/redis-tls/stunnel.conf]
      volumeMounts:
        - {name: redis-tls, mountPath: /run/waymark/redis-tls, readOnly: true}
        - {name: authorities, mountPath: /run/waymark/authorities, readOnly: true}
      securityContext:
        {{- include "waymark.containerSecurity" . | nindent 8 }}
      resources:
        requests: {cpu: 50m, memory: 16Mi}
        limits: {memory: 64Mi}
  {{- end }}
  containers:
    - name: {{ .name }}
      image: {{ include "waymark.image" (dict "root" .root "name" (.image | default .name)) }}
      imagePullPolicy: {{ $values.images.pullPolicy }}
      {{- with .command }}
      command: [{{ . }}]
      {{- end }}
      {{- with .args }}
      args: {{ toJson . }}
      {{- end }}
      {{- if not $isJob }}
      ports:
        {{- with .http }}
        - {name: http, containerPort: {{ . }}}
        {{- end }}
        - {name: ops, containerPort: 9090}
      # The process runs. It need not be ready: a store may be down, or the schema not yet migrated.
      startupProbe:
        httpGet: {path: /livez, port: ops}
        periodSeconds: 1
        failureThreshold: {{ .startFailures | default 60 }}
      # Fails only if a restart would help. A store that is down does not fail it.
      livenessProbe:
        httpGet: {path: /livez, port: ops}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      # The pod gets traffic, and a rolling update continues. The body of /readyz names what is missing.
      readinessProbe:
        httpGet: {path: /readyz, port: ops}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      {{- end }}
      {{- if .http }}
      # The pod serves requests until every proxy has learned that it ends.
      lifecycle:
        preStop:
          sleep: {seconds: 5}
      {{- end }}
      env:
        {{- range $name, $value := $env }}
        - {name: {{ $name }}, value: {{ quote $value }}}
        {{- end }}
        {{- with $pods.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $pods.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $mounts }}
      volumeMounts:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "waymark.containerSecurity" . | nindent 8 }}
      resources:
        {{- toYaml .component.resources | nindent 8 }}
  {{- with $volumes }}
  volumes:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
