import { type ConfigDocument, isRecord } from '../config-document.ts';

/** For whom a configuration is. */
export interface ConfigValidationContext {
  readonly role: 'controlplane' | 'worker';
  readonly talosVersion: string;
  /** The documents before patches were applied. Left out: nothing is known of patches. */
  readonly made?: readonly ConfigDocument[];
}

/** What is wrong with a main document: sentences that begin with the path. */
export type MainDocumentRule = (main: ConfigDocument, context: ConfigValidationContext) => string[];

/** For one problem: nothing while `holds`. */
export const problemUnless = (holds: boolean, sentence: string): string[] => (holds ? [] : [sentence]);

/**
 * For the extra arguments of a program. Talos 1.13 and 1.14 declare lists here too, which repeat a flag, and then fail over
 * them when they look for unknown keys ("unexpected type for yaml sequence: v1alpha1.ArgValue", seen with talosctl 1.13.9
 * and 1.14.0-rc.1).
 */
export const problemsUnlessTexts = (given: unknown, path: string): string[] =>
  Object.entries(isRecord(given) ? given : {}).flatMap(([flag, value]) =>
    problemUnless(typeof value === 'string', `${path}.${flag} must be a text, in quotes if need be.`),
  );
