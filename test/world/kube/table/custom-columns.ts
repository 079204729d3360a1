import type { ApiResource, PrinterColumn } from '../builtin/resources.ts';
import { canonicalJson, isObject } from '../json.ts';
import { type Cell, creationDescription, nameColumn, type TableColumn, tableColumn } from './column.ts';
import { formatAge } from './human-duration.ts';
import { compileJsonPath } from './json-path.ts';

const ageOnly: readonly PrinterColumn[] = [
  { name: 'Age', type: 'date', description: creationDescription, jsonPath: '.metadata.creationTimestamp' },
];

/** The columns of a custom kind: its additionalPrinterColumns, or only the age. */
export function customColumns(resource: ApiResource): readonly TableColumn[] {
  const given = resource.definition?.columns ?? [];
  return [nameColumn, ...(given.length > 0 ? given : ageOnly).map(customColumn)];
}

function customColumn({ name, type, format, description, priority, jsonPath: path }: PrinterColumn): TableColumn {
  const find = compileJsonPath(path);
  const cell = (object: unknown): Cell => {
    const found = find?.(object) ?? [];
    return found.length === 0 ? null : cellOf(type, found[0]);
  };
  return tableColumn(name, cell, {
    type,
    format: format ?? '',
    description: description || `Custom resource definition column (in JSONPath format): ${path}`,
    priority: priority ?? 0,
  });
}

/** A value of another type than its column leaves the cell empty. */
function cellOf(type: string, value: unknown): Cell {
  switch (type) {
    case 'string':
      return value === null ? '' : isObject(value) || Array.isArray(value) ? canonicalJson(value) : String(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? formatAge(value) : null;
    default:
      return null;
  }
}
