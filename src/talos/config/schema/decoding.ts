import { isAtLeastMinor, minorOf } from '../../versions.ts';
import { type ConfigDocument, documentIdentity, isMainConfigDocument } from '../config-document.ts';
import { documentKinds } from './document-kinds.ts';
import { mainDocumentSchema } from './main-document-schema.ts';
import { findSchemaProblems } from './value-schema.ts';

/**
 * Finds values in a document that Talos cannot decode, as sentences without a full stop: unknown kinds, unknown keys,
 * and values of another type. Talos reports `not registered`, `unknown keys found during decoding` and `cannot
 * construct`. A node that reads such a configuration from a disk waits forever.
 */
export function findDecodingProblems(document: ConfigDocument, talosVersion: string): string[] {
  if (isMainConfigDocument(document)) return findSchemaProblems(document, mainDocumentSchema);
  const name = String(document['kind']);
  const kind = Object.hasOwn(documentKinds, name) ? documentKinds[name] : undefined;
  if (!kind || !isAtLeastMinor(talosVersion, kind.since)) {
    const since = kind ? `: it exists since Talos ${kind.since}` : '';
    return [`kind ${name} is not one that Talos ${minorOf(talosVersion) ?? talosVersion} knows${since}`];
  }
  if (document['apiVersion'] !== 'v1alpha1') return [`${name} needs apiVersion: v1alpha1`];
  const { apiVersion: _version, kind: _kind, ...content } = document;
  return findSchemaProblems(content, kind.shape).map((mismatch) => `${documentIdentity(document)}: ${mismatch}`);
}
