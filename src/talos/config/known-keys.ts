import { atLeast, minorOf } from '../versions.ts';
import { type ConfigDocument, identityOf, isMain, isRecord } from './document.ts';
import { type Fields, mainFields } from './fields.ts';
import { kinds } from './kinds.ts';

/**
 * What Talos would refuse to decode in a document, as sentences without a full stop: kinds it does not know and keys
 * that do not exist. Talos says `not registered` and `unknown keys found during decoding`; a node that reads such a
 * configuration from a disc waits for ever.
 */
export function findUnknownKeys(document: ConfigDocument, talosVersion: string): string[] {
  if (isMain(document)) return unknownKeys(document, mainFields, '');
  const name = String(document['kind']);
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (!kind || !atLeast(talosVersion, kind.since)) {
    const since = kind ? `; it exists since Talos ${kind.since}` : '';
    return [`kind ${name} is not one that Talos ${minorOf(talosVersion) ?? talosVersion} knows${since}`];
  }
  if (document['apiVersion'] !== 'v1alpha1') return [`${name} needs apiVersion: v1alpha1`];
  return Object.keys(document)
    .filter((key) => key !== 'apiVersion' && key !== 'kind' && !kind.keys.includes(key))
    .map((key) => `${identityOf(document)} has no field ${key}`);
}

function unknownKeys(value: unknown, fields: Fields, path: string): string[] {
  const known = Object.keys(fields);
  if (known.length === 0) return [];
  const below = (key: string | number) => (path === '' ? String(key) : `${path}.${key}`);
  if (Array.isArray(value)) {
    return value.flatMap((element, i) => unknownKeys(element, fields['*'] ?? {}, `${path}[${i}]`));
  }
  if (!isRecord(value)) return [];
  return Object.keys(value).flatMap((key) => {
    if (key === '$patch') return [];
    const next = fields['*'] ?? (Object.hasOwn(fields, key) ? fields[key] : undefined);
    return next ? unknownKeys(value[key], next, below(key)) : [`${below(key)} does not exist`];
  });
}
