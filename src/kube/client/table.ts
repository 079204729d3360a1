import { KubeError } from '../errors.ts';
import { apiVersionOf, type KubeObject, type ResourceType } from '../resource.ts';
import type { WatchEvent } from './watch-event.ts';

/** What an API server lists of a kind that is read from rows (meta.k8s.io/v1 Table), and sends in each event of a watch. */
export interface Table {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  /** Left out of all events of a watch but the first. */
  readonly columnDefinitions?: readonly { readonly name: string }[] | null;
  readonly rows?: readonly { readonly cells: readonly unknown[] }[] | null;
}

/** Asks for a table and nothing else; kubectl takes objects as well, for the sake of servers before 1.15. */
export const tableAcceptHeader = 'application/json;as=Table;v=v1;g=meta.k8s.io';
/** Without it each row brings the metadata of its object along. */
export const tableQuery = { includeObject: 'None' } as const;

/** Names have 253 characters at most, and the words beside them fewer. */
const maxCellLength = 1024;

/** Reads the tables of one list or one watch, in their order. */
export class TableReader<T extends KubeObject> {
  readonly #type: ResourceType<T>;
  readonly #read: (cell: (column: string) => string) => object;
  #columns: readonly string[] = [];

  constructor(type: ResourceType<T>, read: (cell: (column: string) => string) => object) {
    this.#type = type;
    this.#read = read;
  }

  /** A row does not say its own version: each has that of the table. Throws a `BadAnswer` where a column is missing. */
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

  /** The object that an event is about, in the place of its table. */
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
