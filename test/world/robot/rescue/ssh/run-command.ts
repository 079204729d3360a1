import type { ServerChannel } from 'ssh2';
import { Errno } from '../io/errno.ts';
import { Descriptor, Descriptors, type OpenFile } from '../io/open-file.ts';
import { RescueProcess } from '../process.ts';
import type { RescueSystem } from '../rescue-system.ts';
import { type ByteLimit, RemainingBytes } from './byte-limit.ts';

/** A client's running command. */
export interface RunningCommand {
  /** Its exit status. */
  readonly ended: Promise<number>;
  /** The channel has no more writers. */
  readonly closed: Promise<void>;
  /** The system stopped while the command ran. */
  isGone(): boolean;
  wasKilled(): boolean;
}

export interface ChannelLimits {
  /** The client's input. */
  readonly input?: ByteLimit;
  /** Both outputs together. */
  readonly output?: ByteLimit;
}

/**
 * Runs a command like sshd: by the login shell, with the channel as its three files. A disconnect ends no command: its
 * input ends and its output breaks, and a command that needs neither continues.
 */
export function runChannelCommand(
  system: RescueSystem,
  command: string,
  channel: ServerChannel,
  limits: ChannelLimits = {},
): RunningCommand {
  const wasGoingDown = system.isGoingDown;
  const descriptors = new Descriptors();
  const output = channelOutput(channel, limits.output);
  descriptors.set(0, new Descriptor(channelInput(channel, limits.input)));
  descriptors.set(1, new Descriptor(output.out));
  descriptors.set(2, new Descriptor(output.error));
  const environment = new Map([
    ['USER', 'root'],
    ['LOGNAME', 'root'],
    ['HOME', '/root'],
    ['PATH', '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
    ['SHELL', '/bin/sh'],
  ]);
  const script = Buffer.from(command, 'utf8').toString('latin1');
  const args = ['sh', '-c', script];
  const process = new RescueProcess({ system, args, environment, descriptors, cwd: '/root', signal: system.signal });
  const shell = system.lookUp('sh', '/');
  if (shell instanceof Errno) throw shell;
  const ended = system.execute(process, shell).finally(() => descriptors.closeAll());
  return {
    ended,
    closed: output.closed,
    isGone: () => system.isGoingDown && !wasGoingDown,
    wasKilled: () => process.signal.aborted,
  };
}

/** The client's input, at the reader's speed. */
function channelInput(channel: ServerChannel, limit: ByteLimit | undefined): OpenFile {
  const allowance = new RemainingBytes(limit);
  let rest: Buffer = Buffer.alloc(0);
  let ended = false;
  const end = (): void => {
    ended = true;
  };
  channel.once('end', end);
  channel.once('close', end);
  return {
    read: async (max, signal) => {
      while (rest.length === 0 || allowance.isSpent) {
        const next = channel.read() as Buffer | null;
        if (next) rest = next;
        else if (ended) return Buffer.alloc(0);
        else await awaitEvent(channel, ['readable', 'end', 'close'], signal);
      }
      const taken = rest.subarray(0, max);
      rest = rest.subarray(taken.length);
      return allowance.take(taken);
    },
    write: async () => {
      throw new Errno('EBADF');
    },
  };
}

function channelOutput(
  channel: ServerChannel,
  limit: ByteLimit | undefined,
): { out: OpenFile; error: OpenFile; closed: Promise<void> } {
  const allowance = new RemainingBytes(limit);
  let open = 2;
  let isBroken = false;
  let close = (): void => {};
  const closed = new Promise<void>((resolve) => {
    close = resolve;
  });
  channel.once('close', () => {
    isBroken = true;
  });
  const one = (stream: NodeJS.WritableStream): OpenFile => ({
    read: async () => {
      throw new Errno('EBADF');
    },
    write: async (bytes, signal) => {
      if (isBroken) throw new Errno('EPIPE');
      if (!stream.write(allowance.take(bytes))) await awaitEvent(channel, ['drain', 'close'], signal, stream);
    },
    release: () => {
      open -= 1;
      if (open === 0) close();
    },
  });
  return { out: one(channel), error: one(channel.stderr), closed };
}

/** Waits for one of these events, or for the end of the system. */
function awaitEvent(
  channel: NodeJS.EventEmitter,
  names: readonly string[],
  signal: AbortSignal,
  also: NodeJS.EventEmitter = channel,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const emitters = [...new Set([channel, also])];
    const finish = (work: () => void) => (): void => {
      for (const emitter of emitters) for (const name of names) emitter.off(name, done);
      signal.removeEventListener('abort', stop);
      work();
    };
    const done = finish(resolve);
    const stop = finish(() => reject(signal.reason));
    for (const emitter of emitters) for (const name of names) emitter.on(name, done);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
}
