import { asArray, asObject, asText, valueAtPath } from '../json.ts';
import type { ApiObject } from '../storage/store.ts';
import { nameColumn, type TableColumn, tableColumn, wideColumn } from './column.ts';
import { formatAge } from './human-duration.ts';

/** Columns of the core kinds that need more than one field. */

const orNone = (value: unknown): string => asText(value) || '<none>';

const eventTime = (object: ApiObject): unknown =>
  valueAtPath(object, 'series.lastObservedTime') ?? object['lastTimestamp'] ?? object['eventTime'];

const involved = (object: ApiObject): string => {
  const about = asObject(object['involvedObject'] ?? object['regarding']);
  return `${asText(about['kind']).toLowerCase()}/${asText(about['name'])}`;
};

const source = (object: ApiObject): string =>
  [valueAtPath(object, 'source.component') ?? object['reportingComponent'], valueAtPath(object, 'source.host')]
    .filter(Boolean)
    .join(', ');

export const eventColumns: readonly TableColumn[] = [
  tableColumn('Last Seen', (object) => formatAge(eventTime(object))),
  tableColumn('Type', (object) => asText(object['type'])),
  tableColumn('Reason', (object) => asText(object['reason'])),
  tableColumn('Object', involved),
  wideColumn('Subobject', (object) => asText(valueAtPath(object, 'involvedObject.fieldPath'))),
  wideColumn('Source', source),
  tableColumn('Message', (object) => asText(object['message'] ?? object['note']).trim()),
  wideColumn('First Seen', (object) => formatAge(object['firstTimestamp'] ?? object['eventTime'])),
  tableColumn('Count', (object) => Number(valueAtPath(object, 'series.count') ?? object['count'] ?? 1), {
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
  const ready = asArray(valueAtPath(node, 'status.conditions'))
    .map(asObject)
    .find((condition) => condition['type'] === 'Ready');
  const words = [ready ? (ready['status'] === 'True' ? 'Ready' : 'NotReady') : 'Unknown'];
  if (valueAtPath(node, 'spec.unschedulable') === true) words.push('SchedulingDisabled');
  return words.join(',');
}

const address = (node: ApiObject, type: string): string =>
  orNone(
    asArray(valueAtPath(node, 'status.addresses'))
      .map(asObject)
      .find((one) => one['type'] === type)?.['address'],
  );

const nodeInfo =
  (field: string) =>
  (node: ApiObject): string =>
    asText(valueAtPath(node, `status.nodeInfo.${field}`)) || '<unknown>';

export const nodeColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  tableColumn('Status', nodeStatus),
  tableColumn('Roles', rolesOf),
  ageColumn,
  tableColumn('Version', (node) => asText(valueAtPath(node, 'status.nodeInfo.kubeletVersion'))),
  wideColumn('Internal-IP', (node) => address(node, 'InternalIP')),
  wideColumn('External-IP', (node) => address(node, 'ExternalIP')),
  wideColumn('OS-Image', nodeInfo('osImage')),
  wideColumn('Kernel-Version', nodeInfo('kernelVersion')),
  wideColumn('Container-Runtime', nodeInfo('containerRuntimeVersion')),
];

const containers = (pod: ApiObject): readonly unknown[] => asArray(valueAtPath(pod, 'spec.containers'));
const statuses = (pod: ApiObject) => asArray(valueAtPath(pod, 'status.containerStatuses')).map(asObject);

function podStatus(pod: ApiObject): string {
  if (pod.metadata.deletionTimestamp) return 'Terminating';
  const waiting = statuses(pod)
    .map((status) =>
      asText(valueAtPath(status, 'state.waiting.reason') ?? valueAtPath(status, 'state.terminated.reason')),
    )
    .find(Boolean);
  return waiting ?? (asText(valueAtPath(pod, 'status.reason')) || asText(valueAtPath(pod, 'status.phase')));
}

export const podColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  tableColumn(
    'Ready',
    (pod) => `${statuses(pod).filter((one) => one['ready'] === true).length}/${containers(pod).length}`,
  ),
  tableColumn('Status', podStatus),
  tableColumn('Restarts', (pod) =>
    String(statuses(pod).reduce((sum, one) => sum + Number(one['restartCount'] ?? 0), 0)),
  ),
  ageColumn,
  wideColumn('IP', (pod) => orNone(valueAtPath(pod, 'status.podIP'))),
  wideColumn('Node', (pod) => orNone(valueAtPath(pod, 'spec.nodeName'))),
  wideColumn('Nominated Node', (pod) => orNone(valueAtPath(pod, 'status.nominatedNodeName'))),
  wideColumn('Readiness Gates', () => '<none>'),
];

function ports(service: ApiObject): string {
  const words = asArray(valueAtPath(service, 'spec.ports')).map((given) => {
    const { port, nodePort, protocol } = asObject(given);
    return `${String(port)}${nodePort ? `:${String(nodePort)}` : ''}/${String(protocol ?? 'TCP')}`;
  });
  return words.join(',') || '<none>';
}

const selector = (path: string) => (object: ApiObject) =>
  Object.entries(asObject(valueAtPath(object, path)))
    .map(([name, value]) => `${name}=${String(value)}`)
    .sort()
    .join(',') || '<none>';

export const serviceColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  tableColumn('Type', (service) => asText(valueAtPath(service, 'spec.type')) || 'ClusterIP'),
  tableColumn('Cluster-IP', (service) => orNone(valueAtPath(service, 'spec.clusterIP'))),
  tableColumn('External-IP', (service) => asArray(valueAtPath(service, 'spec.externalIPs')).join(',') || '<none>'),
  tableColumn('Port(s)', ports),
  ageColumn,
  wideColumn('Selector', selector('spec.selector')),
];

/** Names and images of the containers of a pod template, and its selector: the wide columns of every workload. */
export const templateColumns: readonly TableColumn[] = [
  wideColumn('Containers', (object) => templateContainers(object, 'name')),
  wideColumn('Images', (object) => templateContainers(object, 'image')),
  wideColumn('Selector', selector('spec.selector.matchLabels')),
];

const templateContainers = (object: ApiObject, field: string): string =>
  asArray(valueAtPath(object, 'spec.template.spec.containers'))
    .map((container) => asText(asObject(container)[field]))
    .join(',');
