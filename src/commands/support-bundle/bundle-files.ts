import { stringify } from 'yaml';
import { KubeError } from '../../kube/errors.ts';
import { toPrintable } from '../../lib/text.ts';
import { redactText } from './redact-text.ts';

const MiB = 2 ** 20;
/** Before compression. A file or a bundle beyond it ends there, and the manifest says so. */
export const bundleLimits = { fileBytes: 16 * MiB, bundleBytes: 128 * MiB, notes: 1000, noteLength: 500 } as const;

/** A file of a bundle. */
export interface BundleFile {
  /** Below the folder of the bundle. */
  readonly path: string;
  readonly text: string;
}

/** What a bundle does not have, and why. */
export interface LeftOut {
  readonly what: string;
  readonly why: string;
}

/** The files of a bundle while it is collected, within its limits. */
export class BundleFiles {
  readonly #files = new Map<string, BundleFile>();
  readonly #leftOut: LeftOut[] = [];
  #bytes = 0;
  /** Values that were hidden, in all files. */
  hidden = 0;

  /** The text must have been redacted. */
  add(path: string, text: string): void {
    const { fileBytes, bundleBytes } = bundleLimits;
    const free = Math.min(fileBytes, bundleBytes - this.#bytes);
    const length = Buffer.byteLength(text);
    if (length > free) this.leaveOut(path, `It has ${length} bytes, and only the first ${free} fit.`);
    const kept = length > free ? Buffer.from(text).subarray(0, free).toString('utf8') : text;
    this.#files.set(path, { path, text: kept });
    this.#bytes += Math.min(length, free);
  }

  /** Values are redacted by the caller. */
  addYaml(path: string, value: unknown): void {
    this.add(path, stringify(value, { lineWidth: 0, aliasDuplicateObjects: false }));
  }

  leaveOut(what: string, why: string): void {
    const { notes, noteLength } = bundleLimits;
    if (this.#leftOut.length >= notes) return;
    this.#leftOut.push({ what, why: toPrintable(redactText(why).text).slice(0, noteLength) });
  }

  /**
   * Runs one part of the collection. Its failure becomes a line of the manifest, unless the user has stopped the command.
   */
  async attempt<T>(what: string, part: () => Promise<T>, stopped: AbortSignal): Promise<T | undefined> {
    try {
      return await part();
    } catch (error) {
      stopped.throwIfAborted();
      this.leaveOut(what, describeFailure(error));
      return undefined;
    }
  }

  get files(): readonly BundleFile[] {
    return [...this.#files.values()];
  }

  get leftOut(): readonly LeftOut[] {
    return this.#leftOut;
  }
}

function describeFailure(error: unknown): string {
  if (error instanceof KubeError && error.status === 403)
    return `Your rights do not suffice; config/rbac/support-bundle.yaml has them. ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}
