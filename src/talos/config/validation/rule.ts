import { type ConfigDocument, isRecord } from '../config-document.ts';

/** The target of a configuration. */
export interface ConfigValidationContext {
  readonly role: 'controlplane' | 'worker';
  readonly talosVersion: string;
  /** The documents before patches were applied. Absent: there is no information about patches. */
  readonly made?: readonly ConfigDocument[];
}

/** Returns the problems of a main document: sentences that begin with the path. */
export type MainDocumentRule = (main: ConfigDocument, context: ConfigValidationContext) => string[];

/** For one problem: empty when `holds` is true. */
export const problemUnless = (holds: boolean, sentence: string): string[] => (holds ? [] : [sentence]);

/**
 * Checks the extra arguments of a program. From Talos 1.13 on they may be lists, which repeat a flag, but Talos 1.13.0 to
 * 1.13.5 fail when they look for unknown keys in them (`siderolabs/gen` 0.8.6: "unexpected type for yaml sequence:
 * v1alpha1.ArgValue"), and a configuration has to fit every patch version of a minor.
 */
export const problemsUnlessTexts = (given: unknown, path: string): string[] =>
  Object.entries(isRecord(given) ? given : {}).flatMap(([flag, value]) =>
    problemUnless(typeof value === 'string', `${path}.${flag} must be a string; add quotes if necessary.`),
  );
