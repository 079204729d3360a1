import { asText, valueAtPath } from '../json.ts';
import type { ApiObject } from '../storage/store.ts';
import { nameColumn, type TableColumn, tableColumn } from './column.ts';
import { templateColumns } from './core-columns.ts';
import { formatAge, humanDuration } from './human-duration.ts';

const count = (object: ApiObject, path: string): number => Number(valueAtPath(object, path) ?? 0);
const number = (name: string, path: string): TableColumn =>
  tableColumn(name, (object) => count(object, path), { type: 'integer' });
const readyOf = (object: ApiObject): string =>
  `${count(object, 'status.readyReplicas')}/${count(object, 'spec.replicas')}`;

export const deploymentColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  tableColumn('Ready', readyOf),
  tableColumn('Up-to-date', (object) => String(count(object, 'status.updatedReplicas'))),
  tableColumn('Available', (object) => String(count(object, 'status.availableReplicas'))),
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
  tableColumn('Ready', readyOf),
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
  tableColumn('Node Selector', () => '<none>'),
  ageColumn,
  ...templateColumns,
];

function jobDuration(object: ApiObject): string {
  const [start, end] = [
    asText(valueAtPath(object, 'status.startTime')),
    asText(valueAtPath(object, 'status.completionTime')),
  ];
  if (!start) return '';
  return end ? humanDuration(Date.parse(end) - Date.parse(start)) : formatAge(start);
}

export const jobColumns = (ageColumn: TableColumn): readonly TableColumn[] => [
  nameColumn,
  tableColumn('Status', (object) => (valueAtPath(object, 'status.completionTime') ? 'Complete' : 'Running')),
  tableColumn('Completions', (object) => `${count(object, 'status.succeeded')}/${count(object, 'spec.completions')}`),
  tableColumn('Duration', jobDuration),
  ageColumn,
  ...templateColumns,
];
