import type { Client, ClientChannel } from 'ssh2';
import { BoundedByteCounter } from '../../../lib/bounded-read.ts';
import { isDeadlineError, withDeadline } from '../../../lib/deadline.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { type CallObserver, observeCall } from '../../../lib/observers.ts';
import { HetznerRobotError } from '../error-codes.ts';

/** Result of a command. */
export interface SshCommandResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Exit status; undefined: the channel closed without one, as when the system goes down. */
  readonly status: number | undefined;
}

export interface SshCommand {
  /** For metrics and errors, e.g. `inspect`. */
  readonly name: string;
  /** A shell command line, made only by `shell-quote.ts`. */
  readonly line: string;
  readonly input?: string;
  readonly seconds?: number;
}

export interface SshSessionOptions {
  readonly client: Client;
  /** Address and port, for messages. */
  readonly host: string;
  readonly signal: AbortSignal;
  readonly observer: CallObserver;
}

/** Enough for a server with hundreds of partitions. A longer output is an error. */
const maxOutputBytes = 4 * 2 ** 20;

/** Runs commands over one SSH connection, several at the same time. */
export class SshSession {
  readonly #options: SshSessionOptions;
  #lost: Error | undefined;
  /** Called when the connection ends. */
  readonly #waiting = new Set<(error: Error) => void>();

  constructor(options: SshSessionOptions) {
    this.#options = options;
    const { client } = options;
    const lose = (error: Error): void => {
      this.#lost ??= error;
      for (const fail of [...this.#waiting]) fail(error);
    };
    client.on('error', lose);
    client.on('close', () => lose(new Error('the connection ended')));
  }

  /**
   * Runs a command to its end and returns its output, whatever its exit status. A client that disconnects does not stop
   * the command. Throws RESCUE_UNREACHABLE when the connection ends or the timeout passes before.
   */
  run(command: SshCommand): Promise<SshCommandResult> {
    const { observer, signal: parent } = this.#options;
    const about = { system: 'rescue', name: command.name, signal: parent };
    return observeCall(observer, about, () =>
      withDeadline(command.seconds ?? 60, parent, async (signal) => {
        try {
          return await this.#exchange(command, signal);
        } catch (error) {
          parent.throwIfAborted();
          throw this.#toError(error, command.name);
        }
      }),
    );
  }

  /** Runs a command that has to succeed and returns its output. Also throws RESCUE_COMMAND_FAILED. */
  async ask(command: SshCommand): Promise<string> {
    const { stdout, stderr, status } = await this.run(command);
    if (status === 0) return stdout;
    throw new HetznerRobotError(
      'RESCUE_COMMAND_FAILED',
      `${command.name}: ${status === undefined ? 'no status' : `status ${status}`}: ${toSingleLine(stderr || stdout)}`,
    );
  }

  close(): void {
    this.#options.client.end();
  }

  async #exchange({ line, input = '' }: SshCommand, signal: AbortSignal): Promise<SshCommandResult> {
    signal.throwIfAborted();
    if (this.#lost) throw this.#lost;
    return await new Promise<SshCommandResult>((resolve, reject) => {
      let channel: ClientChannel | undefined;
      const end = (work: () => void): void => {
        this.#waiting.delete(lose);
        signal.removeEventListener('abort', stop);
        work();
      };
      const lose = (error: Error): void => end(() => reject(error));
      const stop = (): void => {
        channel?.destroy();
        lose(signal.reason as Error);
      };
      this.#waiting.add(lose);
      signal.addEventListener('abort', stop, { once: true });
      this.#options.client.exec(line, (error, opened) => {
        if (error) return lose(error);
        channel = opened;
        collectOutput(opened, input).then(
          (outcome) => end(() => resolve(outcome)),
          (reason: Error) => lose(reason),
        );
      });
    });
  }

  #toError(error: unknown, name: string): ProviderError {
    if (error instanceof ProviderError) return error;
    const reason = isDeadlineError(error)
      ? `${name} timed out`
      : toSingleLine(error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
    return new HetznerRobotError('RESCUE_UNREACHABLE', `${this.#options.host}: ${reason}.`, { cause: error });
  }
}

/** An excerpt of a program's output, for users. */
export const toSingleLine = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, 300);

function collectOutput(channel: ClientChannel, input: string): Promise<SshCommandResult> {
  return new Promise((resolve, reject) => {
    const [output, errors]: [Buffer[], Buffer[]] = [[], []];
    const count = new BoundedByteCounter(maxOutputBytes, 'what it said');
    const into = (list: Buffer[]) => (chunk: Buffer) => {
      try {
        count.add(chunk);
        list.push(chunk);
      } catch (error) {
        channel.destroy();
        reject(error);
      }
    };
    let status: number | undefined;
    channel.on('data', into(output));
    channel.stderr.on('data', into(errors));
    channel.on('error', reject);
    channel.on('exit', (code: number | null) => {
      status = code ?? undefined;
    });
    channel.on('close', () =>
      resolve({ stdout: Buffer.concat(output).toString(), stderr: Buffer.concat(errors).toString(), status }),
    );
    channel.end(input);
  });
}
