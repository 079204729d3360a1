import type { ApiResource, PrinterColumn } from '../builtin/resources.ts';
import { asArray, asObject, asText, canonicalJson, valueAtPath } from '../json.ts';
import type { ApiObject } from '../storage/store.ts';
import { formatAge } from './human-duration.ts';

/** The types of a cell. */
type Cell = string | number | boolean | null;

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

const tableColumn = (
  name: string,
  cell: TableColumn['cell'],
  more: Partial<Omit<TableColumn, 'name' | 'cell'>> = {},
): TableColumn => ({ name, type: 'string', format: '', description: '', priority: 0, ...more, cell });

const nameColumn = tableColumn('Name', ({ metadata }) => metadata.name, { format: 'name' });
const ageColumn = tableColumn('Age', ({ metadata }) => formatAge(metadata.creationTimestamp));
const createdColumn = tableColumn('Created At', ({ metadata }) => metadata.creationTimestamp ?? null, { type: 'date' });

/** The columns of a kind: those of its definition, or of the built-in kind. */
export function columnsOf({ definition, storage }: ApiResource): readonly TableColumn[] {
  if (!definition) return builtinColumns[storage] ?? [nameColumn, createdColumn];
  const own = definition.columns.length > 0 ? definition.columns : [ageOnly];
  return [nameColumn, ...own.map(customColumn)];
}

const ageOnly: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

function customColumn({ name, type, format, description, priority, jsonPath: path }: PrinterColumn): TableColumn {
  return tableColumn(name, (object) => cellOf(type, valueAtColumnPath(object, path)), {
    type,
    format: format ?? '',
    description: description || `Custom resource definition column (in JSONPath format): ${path}`,
    priority: priority ?? 0,
  });
}

/** The value at a path of fields (`.a.b\.c`) and conditions (`[?(@.type=="Ready")]`). */
export function valueAtColumnPath(object: unknown, path: string): unknown {
  let here = object;
  for (const [, field, key, wanted] of path.matchAll(/\.((?:\\.|[^.[\]\\])+)|\[\?\(@\.(\w+)==["'](\w+)["']\)\]/g)) {
    here =
      field === undefined
        ? asArray(here).find((item) => asObject(item)[key ?? ''] === wanted)
        : asObject(here)[field.replace(/\\(.)/g, '$1')];
  }
  return here;
}

/** A value of another type than its column leaves the cell empty. */
function cellOf(type: string, value: unknown): Cell {
  if (value === undefined) return null;
  switch (type) {
    case 'string':
      return value === null ? '' : typeof value === 'object' ? canonicalJson(value) : String(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
    case 'boolean':
      return typeof value === type ? (value as number | boolean) : null;
    default:
      return type === 'date' && typeof value === 'string' ? formatAge(value) : null;
  }
}

const count = (value: unknown): number => Object.keys(asObject(value)).length;
const rolePrefix = 'node-role.kubernetes.io/';

function nodeStatus(node: ApiObject): string {
  const ready = valueAtColumnPath(node, '.status.conditions[?(@.type=="Ready")].status');
  const status = ready === undefined ? 'Unknown' : ready === 'True' ? 'Ready' : 'NotReady';
  return valueAtPath(node, 'spec.unschedulable') === true ? `${status},SchedulingDisabled` : status;
}

function nodeRoles({ metadata }: ApiObject): string {
  const roles = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(rolePrefix));
  return (
    roles
      .map((label) => label.slice(rolePrefix.length))
      .sort()
      .join() || '<none>'
  );
}

const internalIp = (node: ApiObject): string =>
  asText(valueAtColumnPath(node, '.status.addresses[?(@.type=="InternalIP")].address')) || '<none>';

/** Columns of built-in kinds by their table in the store (`kubernetes: pkg/printers/internalversion`); others have none. */
const builtinColumns: Readonly<Record<string, readonly TableColumn[]>> = {
  namespaces: [nameColumn, tableColumn('Status', (object) => asText(valueAtPath(object, 'status.phase'))), ageColumn],
  configmaps: [
    nameColumn,
    tableColumn('Data', ({ data, binaryData }) => count(data) + count(binaryData), { type: 'integer' }),
    ageColumn,
  ],
  nodes: [
    nameColumn,
    tableColumn('Status', nodeStatus),
    tableColumn('Roles', nodeRoles),
    ageColumn,
    tableColumn('Version', (node) => asText(valueAtPath(node, 'status.nodeInfo.kubeletVersion'))),
    tableColumn('Internal-IP', internalIp, { priority: 1 }),
  ],
};
