import type { Container, FieldRef, KubePod } from './pod-types.ts';

/** The value of a field of the Pod; `address` is the Pod's, which its status may not contain yet. */
export function resolveFieldRef(pod: KubePod, { fieldPath }: FieldRef, address: string): string {
  const { name, namespace = '', uid = '', labels = {}, annotations = {} } = pod.metadata;
  const [, map, key = ''] = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(fieldPath) ?? [];
  if (map) return (map === 'labels' ? labels : annotations)[key] ?? '';
  const fields: Readonly<Record<string, string>> = {
    'metadata.name': name,
    'metadata.namespace': namespace,
    'metadata.uid': uid,
    'spec.nodeName': pod.spec.nodeName ?? '',
    'spec.serviceAccountName': pod.spec.serviceAccountName ?? 'default',
    'status.podIP': address,
  };
  const value = fields[fieldPath];
  if (value === undefined) throw new Error(`fieldPath ${fieldPath} is not known to this kubelet`);
  return value;
}

/** The environment of a container beyond the variables of its image. `server`: URL of the API server. */
export function containerEnvironment(pod: KubePod, container: Container, address: string, server: string) {
  const { hostname, port } = new URL(server);
  const given = (container.env ?? []).map(({ name, value, valueFrom }) => {
    if (!valueFrom) return [name, value ?? ''];
    if (!valueFrom.fieldRef) throw new Error(`valueFrom of ${name} is not known to this kubelet`);
    return [name, resolveFieldRef(pod, valueFrom.fieldRef, address)];
  });
  // There is no proxy for Services: the API server has its real address. Other Services have no variables.
  const services = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  return { HOSTNAME: pod.metadata.name, ...services, ...(Object.fromEntries(given) as Record<string, string>) };
}
