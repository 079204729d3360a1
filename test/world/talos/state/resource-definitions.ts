import { bytesField, encodeMessage, numberField } from './protobuf.ts';
import { type ResourceTypeRow, resourceTypes } from './resource-types.ts';
import type { CosiState } from './resources.ts';

/** The type as a node of Talos 1.`minor` has it. */
export function findResourceType(type: string, minor: number): ResourceTypeRow | undefined {
  const row = Object.hasOwn(resourceTypes, type) ? resourceTypes[type] : undefined;
  return row && (row.since ?? 0) <= minor ? row : undefined;
}

/** Existing namespaces; a request for another one is refused. */
export const namespaces: ReadonlySet<string> = new Set(Object.values(resourceTypes).map(({ namespace }) => namespace));

/** Fills `meta` with the definitions, in the protobuf form that talosctl decodes (cosi runtime: api/v1alpha1/meta.proto). */
export function putResourceDefinitions(resources: CosiState): void {
  for (const namespace of namespaces) resources.put('meta', 'Namespaces.meta.cosi.dev', namespace, { description: '' });
  for (const [type, row] of Object.entries(resourceTypes)) {
    const [name = '', ...suffix] = type.split('.');
    const displayType = name.endsWith('ses') ? name.slice(0, -2) : name.replace(/s$/, '');
    const aliases = aliasesOf(row, name, displayType);
    const stem = name.toLowerCase();
    const qualified = suffix.slice(1).map((_, index) => [stem, ...suffix.slice(0, index + 1)].join('.'));
    const allAliases = [stem, ...qualified, ...aliases];
    const { columns = [], namespace: defaultNamespace, sensitive } = row;
    const proto = encodeMessage(
      ...[bytesField(1, type), bytesField(2, displayType), bytesField(3, defaultNamespace)],
      ...aliases.map((alias) => bytesField(4, alias)),
      ...allAliases.map((alias) => bytesField(5, alias)),
      ...columns.map(([title, path]) => bytesField(6, encodeMessage(bytesField(1, title), bytesField(2, path)))),
      numberField(7, sensitive ? 1 : 0),
    );
    const spec = {
      ...{ type, displayType, defaultNamespace, aliases, allAliases },
      printColumns: columns.map(([title, jsonPath]) => ({ name: title, jsonPath })),
      ...(sensitive ? { sensitivity: 'sensitive' } : {}),
    };
    resources.put('meta', 'ResourceDefinitions.meta.cosi.dev', type.toLowerCase(), spec, { proto });
  }
}

/** The aliases of every type: its singular, and its capitals (`MachineStatuses` → `ms`). */
function aliasesOf({ aliases = [] }: ResourceTypeRow, name: string, display: string): string[] {
  const capitals = name.replace(/[^A-Z]/g, '').toLowerCase();
  const short = capitals.length > 1 ? [capitals, ...(capitals.endsWith('s') ? [] : [`${capitals}s`])] : [];
  return [...aliases, display.toLowerCase(), ...short];
}
