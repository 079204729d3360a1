import { ProviderError } from '../../lib/errors.ts';

/** The error of a member that was asked for a snapshot: the next attempt asks another one. */
export class SnapshotError extends ProviderError {
  readonly machine: string;

  constructor(machine: string, { code, retry, message, detail, retryAfterSeconds, cause }: ProviderError) {
    const sentence = message.slice(0, message.length - detail.length).trim();
    super({ name: code, retry, message: sentence }, detail, { cause, retryAfterSeconds });
    this.machine = machine;
  }
}
