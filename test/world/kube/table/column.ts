import type { ApiObject } from '../storage/store.ts';

/** The types of a cell. */
export type Cell = string | number | boolean | null;

/** One column of a table: its definition in wire format, and the function for its cells. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  /** Above 0: only in wide output. */
  readonly priority: number;
  readonly cell: (object: ApiObject) => Cell;
}

export const tableColumn = (
  name: string,
  cell: TableColumn['cell'],
  more: Partial<Omit<TableColumn, 'name' | 'cell'>> = {},
): TableColumn => ({ name, type: 'string', format: '', description: '', priority: 0, ...more, cell });

/** A column for wide output only. */
export const wideColumn = (name: string, cell: TableColumn['cell']): TableColumn =>
  tableColumn(name, cell, { priority: 1 });

export const nameColumn = tableColumn('Name', (object) => object.metadata.name, {
  format: 'name',
  description:
    'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names',
});

/** `metadata.creationTimestamp`, with the description of the API reference. */
export const creationDescription =
  'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata';
