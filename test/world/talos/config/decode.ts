import { parseAllDocuments, stringify } from 'yaml';
import { kinds } from './kinds.ts';
import { legacyDocument } from './legacy.ts';
import { type Struct, unknownKeys, wrongType } from './shape.ts';

/** One document that is not the v1alpha1 one. */
export interface ConfigDocument {
  readonly kind: string;
  /** Empty for kinds of which there is one. */
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A machine configuration as a node has it in memory: decoded, not yet judged. */
export interface MachineConfig {
  readonly text: string;
  /** The v1alpha1 document; without it a configuration is not complete for boot. */
  readonly legacy: Readonly<Record<string, unknown>> | undefined;
  readonly documents: readonly ConfigDocument[];
}

/** What a node answers (InvalidArgument) or logs when a configuration does not decode or does not validate. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const legacyRoots = ['machine', 'cluster', 'debug', 'persist'];

/**
 * Decodes the YAML stream as strictly as a node of Talos 1.`minor` does. Throws a {@link ConfigError} with the node's
 * own sentence (talos: pkg/machinery/config/configloader/internal/decoder/decoder.go).
 */
export function decodeConfig(text: string, minor: number): MachineConfig {
  const seen = new Set<string>();
  const documents: ConfigDocument[] = [];
  let legacy: Record<string, unknown> | undefined;
  for (const { value, line } of split(text)) {
    const body = value as Record<string, unknown>;
    const kind = textOf(body['kind']);
    const id = `${textOf(body['apiVersion'])}/${kind || 'v1alpha1'}/${textOf(body['name'])}`;
    if (seen.has(id)) throw new ConfigError(`duplicate document ${id} is not allowed (line ${line})`);
    seen.add(id);
    const shape = shapeOf(
      body,
      minor,
      `error decoding document ${textOf(body['apiVersion'])}/${kind}/${textOf(body['name'])} (line ${line}): `,
    );
    if (kind === '') legacy = strip(body);
    else documents.push({ kind, name: textOf(body['name']), body: strip(body) });
    check(
      body,
      shape,
      `error decoding document ${textOf(body['apiVersion'])}/${kind || 'v1alpha1'}/${textOf(body['name'])} (line ${line}): `,
    );
  }
  return { text, legacy, documents };
}

function split(text: string): { value: unknown; line: number }[] {
  const found: { value: unknown; line: number }[] = [];
  for (const document of parseAllDocuments(text, { uniqueKeys: true, maxAliasCount: -1 } as never)) {
    const problem = document.errors[0];
    if (problem) throw new ConfigError(`decode error: ${problem.message.split('\n')[0]}`);
    const line = text.slice(0, document.range?.[0] ?? 0).split('\n').length;
    const value = document.toJS();
    if (value === null || value === undefined) continue;
    if (typeof value !== 'object' || Array.isArray(value)) {
      throw new ConfigError(`expected a YAML document at line ${line}`);
    }
    found.push({ value, line });
  }
  return found;
}

function shapeOf(body: Record<string, unknown>, minor: number, where: string): Struct {
  const kind = textOf(body['kind']);
  const version = legacyRoots.some((key) => key in body) ? 'v1alpha1' : textOf(body['apiVersion']);
  if (kind === '') {
    if (version !== 'v1alpha1' && textOf(body['version']) === '') throw new ConfigError(`${where}missing kind`);
    return legacyDocument;
  }
  if (version === '') throw new ConfigError(`${where}missing apiVersion`);
  const known = kinds[kind];
  if (!known || known.since > minor || version !== 'v1alpha1') {
    throw new ConfigError(`${where}"${kind}" "${version}": not registered`);
  }
  const fields = Object.fromEntries(
    Object.entries(known.shape.fields).filter(([key]) => (known.later?.[key] ?? 0) <= minor),
  );
  return { fields: { apiVersion: 'text', kind: 'text', ...fields } };
}

function check(body: Record<string, unknown>, shape: Struct, where: string): void {
  const misfit = wrongType(body, shape);
  if (misfit) throw new ConfigError(`${where}yaml: unmarshal errors: ${misfit.message}`);
  const unknown = unknownKeys(body, shape);
  if (unknown !== undefined) {
    throw new ConfigError(`${where}unknown keys found during decoding:\n${stringify(unknown, { indent: 4 })}`);
  }
}

function strip(body: Record<string, unknown>): Record<string, unknown> {
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = body;
  return rest;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
