import type { ApiResource } from '../builtin/resources.ts';
import { asArray, asObject, asText, valueAtPath } from '../json.ts';
import type { ApiObject } from '../storage/store.ts';
import { type Cell, creationDescription, nameColumn, type TableColumn, tableColumn, wideColumn } from './column.ts';
import { eventColumns, nodeColumns, podColumns, serviceColumns } from './core-columns.ts';
import { formatAge } from './human-duration.ts';
import {
  daemonSetColumns,
  deploymentColumns,
  jobColumns,
  replicaSetColumns,
  statefulSetColumns,
} from './workload-columns.ts';

const ageColumn = tableColumn('Age', (object) => formatAge(object.metadata.creationTimestamp), {
  description: creationDescription,
});
const createdColumn = tableColumn('Created At', (object) => object.metadata.creationTimestamp ?? null, {
  type: 'date',
  description: creationDescription,
});

const count = (value: unknown): number => Object.keys(asObject(value)).length;
const text =
  (path: string) =>
  (object: ApiObject): Cell =>
    asText(valueAtPath(object, path));
const number = { type: 'integer' } as const;

const subjects =
  (kind: string) =>
  (object: ApiObject): string =>
    asArray(object['subjects'])
      .map(asObject)
      .filter((subject) => subject['kind'] === kind)
      .map((subject) => [subject['namespace'], subject['name']].filter(Boolean).join('/'))
      .join(', ');

const bindingColumns = [
  nameColumn,
  tableColumn(
    'Role',
    (object) => `${asText(valueAtPath(object, 'roleRef.kind'))}/${asText(valueAtPath(object, 'roleRef.name'))}`,
  ),
  ageColumn,
  wideColumn('Users', subjects('User')),
  wideColumn('Groups', subjects('Group')),
  wideColumn('ServiceAccounts', subjects('ServiceAccount')),
];

const endpointsCell = (object: ApiObject): string => {
  const all = asArray(object['subsets']).flatMap((subset) => {
    const { addresses, ports } = asObject(subset);
    const hosts = asArray(addresses).map((address) => asText(asObject(address)['ip']));
    const numbers = asArray(ports).map((port) => String(asObject(port)['port']));
    return hosts.flatMap((host) => (numbers.length > 0 ? numbers.map((port) => `${host}:${port}`) : [host]));
  });
  if (all.length === 0) return '<none>';
  return all.length > 3 ? `${all.slice(0, 3).join(',')} + ${all.length - 3} more...` : all.join(',');
};

/** Columns of the built-in kinds by their table in the store, as in `kubernetes: pkg/printers/internalversion`. */
const columns: Readonly<Record<string, readonly TableColumn[]>> = {
  namespaces: [nameColumn, tableColumn('Status', text('status.phase')), ageColumn],
  configmaps: [
    nameColumn,
    tableColumn('Data', (object) => count(object['data']) + count(object['binaryData']), number),
    ageColumn,
  ],
  secrets: [
    nameColumn,
    tableColumn('Type', text('type')),
    tableColumn('Data', (object) => count(object['data']), number),
    ageColumn,
  ],
  serviceaccounts: [nameColumn, ageColumn],
  events: eventColumns,
  nodes: nodeColumns(ageColumn),
  pods: podColumns(ageColumn),
  services: serviceColumns(ageColumn),
  endpoints: [nameColumn, tableColumn('Endpoints', endpointsCell), ageColumn],
  'coordination.k8s.io/leases': [nameColumn, tableColumn('Holder', text('spec.holderIdentity')), ageColumn],
  'apps/deployments': deploymentColumns(ageColumn),
  'apps/replicasets': replicaSetColumns(ageColumn),
  'apps/statefulsets': statefulSetColumns(ageColumn),
  'apps/daemonsets': daemonSetColumns(ageColumn),
  'batch/jobs': jobColumns(ageColumn),
  'rbac.authorization.k8s.io/roles': [nameColumn, createdColumn],
  'rbac.authorization.k8s.io/clusterroles': [nameColumn, createdColumn],
  'rbac.authorization.k8s.io/rolebindings': bindingColumns,
  'rbac.authorization.k8s.io/clusterrolebindings': bindingColumns,
};

export const builtinColumns = (resource: ApiResource): readonly TableColumn[] =>
  columns[resource.storage] ?? [nameColumn, createdColumn];
