import { asText, at } from '../json.ts';
import type { ApiObject } from '../store.ts';
import { column, nameColumn, type TableColumn } from './column.ts';
import { templateColumns } from './core-columns.ts';
import { age, humanDuration } from './duration.ts';

const count = (object: ApiObject, path: string): number => Number(at(object, path) ?? 0);
const number = (name: string, path: string): TableColumn =>
  column(name, (object) => count(object, path), { type: 'integer' });
const readyOf = (object: ApiObject): string =>
  `${count(object, 'status.readyReplicas')}/${count(object, 'spec.replicas')}`;

export const deploymentColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  column('Ready', readyOf),
  column('Up-to-date', (object) => String(count(object, 'status.updatedReplicas'))),
  column('Available', (object) => String(count(object, 'status.availableReplicas'))),
  ageColumn,
  ...templateColumns,
];

export const replicaSetColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  number('Desired', 'spec.replicas'),
  number('Current', 'status.replicas'),
  number('Ready', 'status.readyReplicas'),
  ageColumn,
  ...templateColumns,
];

export const statefulSetColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  column('Ready', readyOf),
  ageColumn,
  ...templateColumns.slice(0, 2),
];

export const daemonSetColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  number('Desired', 'status.desiredNumberScheduled'),
  number('Current', 'status.currentNumberScheduled'),
  number('Ready', 'status.numberReady'),
  number('Up-to-date', 'status.updatedNumberScheduled'),
  number('Available', 'status.numberAvailable'),
  column('Node Selector', () => '<none>'),
  ageColumn,
  ...templateColumns,
];

function jobDuration(object: ApiObject): string {
  const [start, end] = [asText(at(object, 'status.startTime')), asText(at(object, 'status.completionTime'))];
  if (!start) return '';
  return end ? humanDuration(Date.parse(end) - Date.parse(start)) : age(start);
}

export const jobColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  column('Status', (object) => (at(object, 'status.completionTime') ? 'Complete' : 'Running')),
  column('Completions', (object) => `${count(object, 'status.succeeded')}/${count(object, 'spec.completions')}`),
  column('Duration', jobDuration),
  ageColumn,
  ...templateColumns,
];
