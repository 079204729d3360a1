import { createHash } from 'node:crypto';
import { parse, YAMLParseError } from 'yaml';
import { toGoYaml } from './go-yaml.ts';

/** The fields of a schematic, in the order of the canonical form (image-factory: pkg/schematic/schematic.go). */
export interface ParsedSchematic {
  readonly id: string;
  readonly canonical: string;
  readonly extensions: readonly string[];
  readonly kernelArguments: readonly string[];
}

/** A schematic that the factory refuses; the text is the body of its 400. */
export class InvalidSchematic extends Error {}

type SchematicShape = 'string' | 'strings' | { readonly [key: string]: SchematicShape };

/** The fields that the product uses; others are refused. */
const schematicShape = {
  owner: 'string',
  customization: { extraKernelArgs: 'strings', systemExtensions: { officialExtensions: 'strings' } },
} as const satisfies SchematicShape;

/** Parses a schematic strictly and computes its id. Throws {@link InvalidSchematic}. */
export function parseSchematic(text: string): ParsedSchematic {
  const value = readYaml(text);
  if (isMap(value) && typeof value['owner'] === 'string' && value['owner'] !== '') {
    throw new InvalidSchematic('owner field is only supported in Enterprise edition');
  }
  const ordered = canonicalize(value, schematicShape, 'Schematic') as Readonly<Record<string, unknown>> | undefined;
  const customization = (ordered?.['customization'] ?? {}) as Readonly<Record<string, unknown>>;
  const canonical = toGoYaml({ ...ordered, customization });
  const extensions = (customization['systemExtensions'] as { officialExtensions?: string[] } | undefined)
    ?.officialExtensions;
  return {
    id: createHash('sha256').update(canonical).digest('hex'),
    canonical,
    extensions: extensions ?? [],
    kernelArguments: (customization['extraKernelArgs'] as string[] | undefined) ?? [],
  };
}

function readYaml(text: string): unknown {
  if (text.trim() === '') throw new InvalidSchematic('EOF');
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof YAMLParseError) throw new InvalidSchematic(`yaml: ${error.message}`);
    throw error;
  }
}

/** The value with its keys in canonical order and without empty fields; undefined when nothing remains. */
function canonicalize(value: unknown, wanted: SchematicShape, type: string): unknown {
  if (value === null || value === undefined) return undefined;
  if (typeof wanted === 'string') return canonicalScalar(value, wanted);
  if (!isMap(value)) throw mismatch(value, `schematic.${type}`);
  for (const key of Object.keys(value)) {
    if (!(key in wanted)) {
      throw new InvalidSchematic(`yaml: unmarshal errors:\n  line 1: field ${key} not found in type schematic.${type}`);
    }
  }
  const entries = Object.entries(wanted)
    .map(([key, inner]) => [key, canonicalize(value[key], inner, key[0]?.toUpperCase() + key.slice(1))] as const)
    .filter(([, inner]) => inner !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function canonicalScalar(value: unknown, wanted: Extract<SchematicShape, string>): unknown {
  if (wanted === 'string') {
    if (typeof value !== 'string') throw mismatch(value, 'string');
    return value === '' ? undefined : value;
  }
  if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) throw mismatch(value, '[]string');
  return value.length === 0 ? undefined : value;
}

function mismatch(value: unknown, type: string): InvalidSchematic {
  const shown = JSON.stringify(value);
  return new InvalidSchematic(`yaml: unmarshal errors:\n  line 1: cannot unmarshal ${shown} into ${type}`);
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
