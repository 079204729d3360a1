import { z } from 'zod';
import { buildCrds } from '../../src/api/crd.ts';
import { outputSchemas } from '../../src/commands/output/output-schemas.ts';
import { formatTable } from './markdown-table.ts';

/** A node of an OpenAPI schema, as far as the page of fields reads it. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

/** A section for each of our kinds, with a table of all fields of its spec and one of its status. */
export function fieldSections(): string {
  return buildCrds()
    .flatMap((crd) => {
      const { kind } = crd.spec['names'] as { kind: string };
      const [version] = crd.spec['versions'] as { schema: { openAPIV3Schema: Schema } }[];
      const root = version?.schema.openAPIV3Schema ?? {};
      const parts = ['spec', 'status'].flatMap((part) => {
        const schema = root.properties?.[part];
        return schema ? [`### ${kind}: ${part}`, fieldTable(schema, part)] : [];
      });
      return [`## ${kind}`, oneLine(root.description), ...parts];
    })
    .join('\n\n');
}

const fieldTable = (schema: Schema, path: string): string =>
  formatTable(['Field', 'Type', 'Default', 'Meaning'], fieldRows(schema, path));

/** A section for each object that commands print, with a table of its fields. */
export function outputSections(): string {
  return Object.entries(outputSchemas)
    .flatMap(([command, zodSchema]) => {
      const schema = z.toJSONSchema(zodSchema, { target: 'openapi-3.0' }) as Schema;
      const rows = fieldRows(schema, '').map(([name = '', type = '', isRequired = '', about = '']) => [
        name.replace('`.', '`'),
        // Every safe integer.
        type.replace(`, 0 to ${Number.MAX_SAFE_INTEGER}`, ''),
        isRequired === 'required' ? '' : 'may be absent',
        about,
      ]);
      return [`## ${command}`, formatTable(['Field', 'Type', '', 'Meaning'], rows)];
    })
    .join('\n\n');
}

/** One row for each field below a node, depth first. */
function fieldRows(schema: Schema, path: string): string[][] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const isRequired = schema.required?.includes(name) ?? false;
    const row = [`\`${path}.${name}\``, typeOf(child), defaultOf(child, isRequired), oneLine(child.description)];
    return [row, ...fieldRows(child, `${path}.${name}`)];
  });
  const items = schema.items ? fieldRows(schema.items, `${path}[]`) : [];
  const values = valuesOf(schema);
  return [...own, ...items, ...(values ? fieldRows(values, `${path}.*`) : [])];
}

function typeOf(schema: Schema): string {
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(' or ');
  if (schema.items) return `list of ${typeOf(schema.items)}${formatRange(schema.minItems, schema.maxItems)}`;
  const values = valuesOf(schema);
  if (values) return `map of ${typeOf(values)}`;
  return `${schema.type ?? 'any'}${formatRange(schema.minimum, schema.maximum)}`;
}

function formatRange(least: number | undefined, max: number | undefined): string {
  if (least === undefined && max === undefined) return '';
  if (max === undefined) return `, at least ${least}`;
  return least === undefined ? `, at most ${max}` : `, ${least} to ${max}`;
}

const valuesOf = ({ additionalProperties }: Schema): Schema | undefined =>
  typeof additionalProperties === 'object' ? additionalProperties : undefined;

const defaultOf = (schema: Schema, isRequired: boolean): string => {
  if (schema.default !== undefined) return `\`${JSON.stringify(schema.default)}\``;
  return isRequired ? 'required' : '';
};

/** On one line, with `<` shown as it is where Markdown would take it for HTML. */
const oneLine = (text = ''): string => text.replaceAll(/\s+/g, ' ').replaceAll('<', '&lt;').trim();
