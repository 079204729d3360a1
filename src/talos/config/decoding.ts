import { atLeast, minorOf } from '../versions.ts';
import { type ConfigDocument, identityOf, isMain } from './document.ts';
import { kinds } from './kinds.ts';
import { mainShape } from './main-shape.ts';
import { findMisfits } from './shape.ts';

/**
 * What Talos would refuse to decode in a document, as sentences without a full stop: kinds it does not know, keys that do
 * not exist, and values of another type. Talos says `not registered`, `unknown keys found during decoding` and `cannot
 * construct`; a node that reads such a configuration from a disc waits for ever.
 */
export function findUndecodable(document: ConfigDocument, talosVersion: string): string[] {
  if (isMain(document)) return findMisfits(document, mainShape);
  const name = String(document['kind']);
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (!kind || !atLeast(talosVersion, kind.since)) {
    const since = kind ? `: it exists since Talos ${kind.since}` : '';
    return [`kind ${name} is not one that Talos ${minorOf(talosVersion) ?? talosVersion} knows${since}`];
  }
  if (document['apiVersion'] !== 'v1alpha1') return [`${name} needs apiVersion: v1alpha1`];
  const { apiVersion: _version, kind: _kind, ...content } = document;
  return findMisfits(content, kind.shape).map((misfit) => `${identityOf(document)}: ${misfit}`);
}
