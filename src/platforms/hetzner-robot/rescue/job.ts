import { createHash } from 'node:crypto';
import { type Code, codes, ProviderError } from '../../../lib/errors.ts';
import { type DiskName, toArguments } from './disk-name.ts';
import { parseLabelled, valueIn } from './labelled.ts';
import { toScript } from './quote.ts';
import { home, launcher } from './scripts/common.ts';
import { wipeScript } from './scripts/wipe.ts';
import { writeScript } from './scripts/write.ts';
import type { Command } from './session.ts';

/** How far something is that runs in the rescue system by itself. */
export type Job =
  | { readonly kind: 'running'; readonly percent?: number; readonly doing: string }
  | { readonly kind: 'done'; readonly facts: Readonly<Record<string, string | number>> }
  /** It was told: asked for again, it begins anew. */
  | { readonly kind: 'failed'; readonly code: Code; readonly message: string };

/** What is written, and how it is known to be right. */
export interface ImageSource {
  readonly url: string;
  readonly compression: 'zst' | 'xz';
  /** Of the compressed stream, in lower-case hexadecimal. Without it only its own structure and checksums are looked at. */
  readonly sha256?: string;
}

/** The command that starts a wipe of these disks, or looks at the one that was started before. */
export const wipeCommand = (operation: string, disks: readonly DiskName[]): Command => {
  if (disks.length === 0) throw new TypeError('nothing to wipe');
  return toLaunch('wipe', operation, wipeScript, disks.flatMap(toArguments));
};

export const writeCommand = (operation: string, disk: DiskName, image: ImageSource): Command =>
  toLaunch('write', operation, writeScript, [
    ...toArguments(disk),
    image.url,
    image.compression === 'zst' ? 'zstd' : 'xz',
    image.sha256 ?? '',
  ]);

function toLaunch(name: string, operation: string, script: string, args: readonly string[]): Command {
  // Other arguments are another job, and no operation can name a folder elsewhere.
  const id = createHash('sha256')
    .update(JSON.stringify([operation, args]))
    .digest('hex')
    .slice(0, 32);
  const bytes = String(Buffer.byteLength(script));
  return { name, line: toScript(launcher, `${home}/${name}-${id}`, bytes, ...args), input: script };
}

/** Throws RESCUE_COMMAND_FAILED when it is no answer. */
export function parseJob(text: string): Job {
  const lines = parseLabelled(text);
  switch (valueIn(lines, 'state')) {
    case 'running': {
      const percent = valueIn(lines, 'percent');
      const doing = valueIn(lines, 'doing');
      return { kind: 'running', doing, ...(/^\d{1,3}$/.test(percent) ? { percent: Number(percent) } : {}) };
    }
    case 'done': {
      const facts = lines.filter(([label]) => label !== 'state').map(([label, value]) => [label, toFact(value)]);
      return { kind: 'done', facts: Object.fromEntries(facts) };
    }
    case 'failed':
      return { kind: 'failed', code: toCode(valueIn(lines, 'code')), message: valueIn(lines, 'message').trim() };
    default:
      throw new ProviderError('RESCUE_COMMAND_FAILED', 'A job does not say how far it is.');
  }
}

const toFact = (value: string): string | number => (/^\d{1,15}$/.test(value) ? Number(value) : value);

const toCode = (text: string): Code =>
  text.startsWith('RESCUE_') && Object.hasOwn(codes, text) ? (text as Code) : 'RESCUE_COMMAND_FAILED';
