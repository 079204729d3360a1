import type { Column, Resource } from '../builtin/resources.ts';
import { canonical, isObject } from '../json.ts';
import { type Cell, column, creationDescription, nameColumn, type TableColumn } from './column.ts';
import { age } from './duration.ts';
import { jsonPath } from './json-path.ts';

const ageOnly: readonly Column[] = [
  { name: 'Age', type: 'date', description: creationDescription, jsonPath: '.metadata.creationTimestamp' },
];

/** The columns of a custom kind: its additionalPrinterColumns, or the age alone. */
export function customColumns(resource: Resource): readonly TableColumn[] {
  const given = resource.definition?.columns ?? [];
  return [nameColumn, ...(given.length > 0 ? given : ageOnly).map(customColumn)];
}

function customColumn({ name, type, format, description, priority, jsonPath: path }: Column): TableColumn {
  const find = jsonPath(path);
  const cell = (object: unknown): Cell => {
    const found = find?.(object) ?? [];
    return found.length === 0 ? null : cellOf(type, found[0]);
  };
  return column(name, cell, {
    type,
    format: format ?? '',
    description: description || `Custom resource definition column (in JSONPath format): ${path}`,
    priority: priority ?? 0,
  });
}

/** A value that does not fit the type of its column leaves the cell empty. */
function cellOf(type: string, value: unknown): Cell {
  switch (type) {
    case 'string':
      return value === null ? '' : isObject(value) || Array.isArray(value) ? canonical(value) : String(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? age(value) : null;
    default:
      return null;
  }
}
