import { asArray, asObject, asText, at } from '../json.ts';
import type { ApiObject } from '../store.ts';
import { column, nameColumn, type TableColumn, wide } from './column.ts';
import { age } from './duration.ts';

/** Columns of the core kinds that need more than a field each. */

const orNone = (value: unknown): string => asText(value) || '<none>';

const eventTime = (object: ApiObject): unknown =>
  at(object, 'series.lastObservedTime') ?? object['lastTimestamp'] ?? object['eventTime'];

const involved = (object: ApiObject): string => {
  const about = asObject(object['involvedObject'] ?? object['regarding']);
  return `${asText(about['kind']).toLowerCase()}/${asText(about['name'])}`;
};

const source = (object: ApiObject): string =>
  [at(object, 'source.component') ?? object['reportingComponent'], at(object, 'source.host')]
    .filter(Boolean)
    .join(', ');

export const eventColumns: readonly TableColumn[] = [
  column('Last Seen', (object) => age(eventTime(object))),
  column('Type', (object) => asText(object['type'])),
  column('Reason', (object) => asText(object['reason'])),
  column('Object', involved),
  wide('Subobject', (object) => asText(at(object, 'involvedObject.fieldPath'))),
  wide('Source', source),
  column('Message', (object) => asText(object['message'] ?? object['note']).trim()),
  wide('First Seen', (object) => age(object['firstTimestamp'] ?? object['eventTime'])),
  column('Count', (object) => Number(at(object, 'series.count') ?? object['count'] ?? 1), {
    type: 'integer',
    priority: 1,
  }),
  { ...nameColumn, priority: 1 },
];

const rolePrefix = 'node-role.kubernetes.io/';

function rolesOf({ metadata }: ApiObject): string {
  const roles = Object.entries(metadata.labels ?? {}).flatMap(([label, value]) => {
    if (label.startsWith(rolePrefix)) return [label.slice(rolePrefix.length)];
    return label === 'kubernetes.io/role' && value ? [value] : [];
  });
  return roles.filter(Boolean).sort().join(',') || '<none>';
}

function nodeStatus(node: ApiObject): string {
  const ready = asArray(at(node, 'status.conditions'))
    .map(asObject)
    .find((condition) => condition['type'] === 'Ready');
  const words = [ready ? (ready['status'] === 'True' ? 'Ready' : 'NotReady') : 'Unknown'];
  if (at(node, 'spec.unschedulable') === true) words.push('SchedulingDisabled');
  return words.join(',');
}

const address = (node: ApiObject, type: string): string =>
  orNone(
    asArray(at(node, 'status.addresses'))
      .map(asObject)
      .find((one) => one['type'] === type)?.['address'],
  );

const nodeInfo =
  (field: string) =>
  (node: ApiObject): string =>
    asText(at(node, `status.nodeInfo.${field}`)) || '<unknown>';

export const nodeColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  column('Status', nodeStatus),
  column('Roles', rolesOf),
  ageColumn,
  column('Version', (node) => asText(at(node, 'status.nodeInfo.kubeletVersion'))),
  wide('Internal-IP', (node) => address(node, 'InternalIP')),
  wide('External-IP', (node) => address(node, 'ExternalIP')),
  wide('OS-Image', nodeInfo('osImage')),
  wide('Kernel-Version', nodeInfo('kernelVersion')),
  wide('Container-Runtime', nodeInfo('containerRuntimeVersion')),
];

const containers = (pod: ApiObject): readonly unknown[] => asArray(at(pod, 'spec.containers'));
const statuses = (pod: ApiObject) => asArray(at(pod, 'status.containerStatuses')).map(asObject);

function podStatus(pod: ApiObject): string {
  if (pod.metadata.deletionTimestamp) return 'Terminating';
  const waiting = statuses(pod)
    .map((status) => asText(at(status, 'state.waiting.reason') ?? at(status, 'state.terminated.reason')))
    .find(Boolean);
  return waiting ?? (asText(at(pod, 'status.reason')) || asText(at(pod, 'status.phase')));
}

export const podColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  column('Ready', (pod) => `${statuses(pod).filter((one) => one['ready'] === true).length}/${containers(pod).length}`),
  column('Status', podStatus),
  column('Restarts', (pod) => String(statuses(pod).reduce((sum, one) => sum + Number(one['restartCount'] ?? 0), 0))),
  ageColumn,
  wide('IP', (pod) => orNone(at(pod, 'status.podIP'))),
  wide('Node', (pod) => orNone(at(pod, 'spec.nodeName'))),
  wide('Nominated Node', (pod) => orNone(at(pod, 'status.nominatedNodeName'))),
  wide('Readiness Gates', () => '<none>'),
];

function ports(service: ApiObject): string {
  const words = asArray(at(service, 'spec.ports')).map((given) => {
    const { port, nodePort, protocol } = asObject(given);
    return `${String(port)}${nodePort ? `:${String(nodePort)}` : ''}/${String(protocol ?? 'TCP')}`;
  });
  return words.join(',') || '<none>';
}

const selector = (path: string) => (object: ApiObject) =>
  Object.entries(asObject(at(object, path)))
    .map(([name, value]) => `${name}=${String(value)}`)
    .sort()
    .join(',') || '<none>';

export const serviceColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  column('Type', (service) => asText(at(service, 'spec.type')) || 'ClusterIP'),
  column('Cluster-IP', (service) => orNone(at(service, 'spec.clusterIP'))),
  column('External-IP', (service) => asArray(at(service, 'spec.externalIPs')).join(',') || '<none>'),
  column('Port(s)', ports),
  ageColumn,
  wide('Selector', selector('spec.selector')),
];

/** Names and images of the containers of a pod template, and its selector: the wide half of every workload. */
export const templateColumns: readonly TableColumn[] = [
  wide('Containers', (object) => templateContainers(object, 'name')),
  wide('Images', (object) => templateContainers(object, 'image')),
  wide('Selector', selector('spec.selector.matchLabels')),
];

const templateContainers = (object: ApiObject, field: string): string =>
  asArray(at(object, 'spec.template.spec.containers'))
    .map((container) => asText(asObject(container)[field]))
    .join(',');
