import { createHash } from 'node:crypto';
import { HetznerRobotError, type HetznerRobotErrorCode, robotErrorCodes } from '../error-codes.ts';
import { type DiskIdentifiers, toScriptArguments } from './disk-identifiers.ts';
import { labeledValue, parseLabels } from './parse-labels.ts';
import { jobHome, jobLauncher } from './scripts/common.ts';
import { wipeScript } from './scripts/wipe.ts';
import { writeScript } from './scripts/write.ts';
import { toShellScript } from './shell-quote.ts';
import type { SshCommand } from './ssh-session.ts';

/** Progress of a job that runs detached in the rescue system. */
export type RescueJob =
  | { readonly kind: 'running'; readonly percent?: number; readonly description: string }
  | { readonly kind: 'done'; readonly facts: Readonly<Record<string, string | number>> }
  /** The failure was reported. The next call starts the job again. */
  | { readonly kind: 'failed'; readonly code: HetznerRobotErrorCode; readonly message: string };

/** The image to write, and its checksum. */
export interface ImageSource {
  readonly url: string;
  readonly compression: 'zst' | 'xz';
  /**
   * SHA-256 of the compressed stream, in lower-case hexadecimal. Without it only the structure and checksums of the
   * stream are checked.
   */
  readonly sha256?: string;
}

/** The command that starts a wipe of these disks, or reports on the one that was started before. */
export const wipeCommand = (operation: string, disks: readonly DiskIdentifiers[]): SshCommand => {
  if (disks.length === 0) throw new TypeError('nothing to wipe');
  return launchCommand('wipe', operation, wipeScript, disks.flatMap(toScriptArguments));
};

export const writeCommand = (operation: string, disk: DiskIdentifiers, image: ImageSource): SshCommand =>
  launchCommand('write', operation, writeScript, [
    ...toScriptArguments(disk),
    image.url,
    image.compression === 'zst' ? 'zstd' : 'xz',
    image.sha256 ?? '',
  ]);

function launchCommand(name: string, operation: string, script: string, args: readonly string[]): SshCommand {
  // Other arguments are another job. The hash also keeps an operation from naming a folder elsewhere.
  const id = createHash('sha256')
    .update(JSON.stringify([operation, args]))
    .digest('hex')
    .slice(0, 32);
  const bytes = String(Buffer.byteLength(script));
  return { name, line: toShellScript(jobLauncher, `${jobHome}/${name}-${id}`, bytes, ...args), input: script };
}

/** Throws RESCUE_COMMAND_FAILED for any other output. */
export function parseRescueJob(text: string): RescueJob {
  const lines = parseLabels(text);
  switch (labeledValue(lines, 'state')) {
    case 'running': {
      const percent = labeledValue(lines, 'percent');
      const doing = labeledValue(lines, 'doing');
      return {
        kind: 'running',
        description: doing,
        ...(/^\d{1,3}$/.test(percent) ? { percent: Number(percent) } : {}),
      };
    }
    case 'done': {
      const facts = lines.filter(([label]) => label !== 'state').map(([label, value]) => [label, toJobFact(value)]);
      return { kind: 'done', facts: Object.fromEntries(facts) };
    }
    case 'failed':
      return {
        kind: 'failed',
        code: toJobErrorCode(labeledValue(lines, 'code')),
        message: labeledValue(lines, 'message').trim(),
      };
    default:
      throw new HetznerRobotError('RESCUE_COMMAND_FAILED', 'The output of a job has no progress.');
  }
}

const toJobFact = (value: string): string | number => (/^\d{1,15}$/.test(value) ? Number(value) : value);

const toJobErrorCode = (text: string): HetznerRobotErrorCode =>
  text.startsWith('RESCUE_') && Object.hasOwn(robotErrorCodes, text)
    ? (text as HetznerRobotErrorCode)
    : 'RESCUE_COMMAND_FAILED';
