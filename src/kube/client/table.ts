import { KubeError } from '../errors.ts';
import { apiVersionOf, type KubeObject, type ResourceType } from '../resource.ts';
import type { WatchEvent } from './watch-event.ts';

/** A list, or the object of a watch event, in table form (meta.k8s.io/v1 Table). */
export interface Table {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  /** Absent from every event of a watch but the first. */
  readonly columnDefinitions?: readonly { readonly name: string }[] | null;
  readonly rows?: readonly { readonly cells: readonly unknown[] }[] | null;
}

/** Requests only a table. kubectl also accepts objects, for API servers before 1.15. */
export const tableAcceptHeader = 'application/json;as=Table;v=v1;g=meta.k8s.io';
/** Without this parameter each row includes the metadata of its object. */
export const tableQuery = { includeObject: 'None' } as const;

/** Names have at most 253 characters; the other cells are shorter. */
const maxCellLength = 1024;

/** Reads the tables of one list or one watch, in order. */
export class TableReader<T extends KubeObject> {
  readonly #type: ResourceType<T>;
  readonly #read: (cell: (column: string) => string) => object;
  #columns: readonly string[] = [];

  constructor(type: ResourceType<T>, read: (cell: (column: string) => string) => object) {
    this.#type = type;
    this.#read = read;
  }

  /**
   * Every object gets the resource version of the table, since rows carry none. Throws a `BadAnswer` where a column is
   * missing.
   */
  objects({ columnDefinitions, metadata, rows }: Table): T[] {
    if (columnDefinitions?.length) this.#columns = columnDefinitions.map(({ name }) => name);
    const { resourceVersion = '' } = metadata ?? {};
    const identity = { apiVersion: apiVersionOf(this.#type), kind: this.#type.kind };
    return (rows ?? []).map(({ cells }) => {
      const cell = (column: string): string => {
        const value = cells[this.#columns.indexOf(column)];
        if (typeof value === 'string' && value.length <= maxCellLength) return value;
        if (typeof value === 'string') throw this.#unknown(`has a text of ${value.length} characters in "${column}"`);
        throw this.#unknown(`has no column "${column}"`);
      };
      return { ...identity, metadata: { name: cell('Name'), resourceVersion }, ...this.#read(cell) } as T;
    });
  }

  /** Replaces the table of a watch event by the object that the event is about. */
  event({ type, object }: WatchEvent<KubeObject>): WatchEvent<T> {
    const [row] = this.objects(object as Table);
    if (row) return { type, object: row };
    if (type === 'BOOKMARK') return { type, object: object as T };
    throw this.#unknown('has no row');
  }

  #unknown(what: string): KubeError {
    return new KubeError({ status: 0, reason: 'BadAnswer', message: `the table of ${this.#type.plural} ${what}` });
  }
}
