import type { ConfigDocument } from './document.ts';

/** For whom a configuration is. */
export interface RuleContext {
  readonly role: 'controlplane' | 'worker';
  readonly talosVersion: string;
}

/** What is wrong with a main document: sentences that begin with the path. */
export type Rule = (main: ConfigDocument, context: RuleContext) => string[];

/** For one problem: nothing while `holds`. */
export const expectThat = (holds: boolean, sentence: string): string[] => (holds ? [] : [sentence]);
