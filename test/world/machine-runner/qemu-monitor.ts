import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';

/** An answer; the greeting and events have no id. */
const Message = z.object({ id: z.number().optional(), error: z.object({ desc: z.string() }).optional() });

/** QEMU ended before it answered. */
export class QemuExited extends Error {}

/** QEMU's monitor (qemu.org: QMP). */
export interface QemuMonitor {
  /** Executes a command. Rejects with QEMU's own message, or a {@link QemuExited}. */
  execute(command: string): Promise<void>;
}

interface PendingCommand {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Connects to a QEMU with its monitor on these streams. */
export function openQemuMonitor(input: Writable, output: Readable): QemuMonitor {
  const waiting = new Map<number, PendingCommand>();
  let next = 1;
  const lines = createInterface({ input: output });
  lines.on('line', (line) => {
    const { id, error } = Message.parse(JSON.parse(line));
    if (id === undefined) return;
    const one = waiting.get(id);
    waiting.delete(id);
    if (error) one?.reject(new Error(error.desc));
    else one?.resolve();
  });
  lines.on('close', () => {
    for (const { reject } of waiting.values()) reject(new QemuExited('QEMU is gone'));
  });
  // Pending commands are rejected when the other stream closes.
  input.on('error', () => undefined);
  const execute = (command: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const id = next++;
      waiting.set(id, { resolve, reject });
      input.write(`${JSON.stringify({ execute: command, id })}\n`);
    });
  // QEMU accepts no other command before this.
  const greeted = execute('qmp_capabilities');
  return { execute: (command) => greeted.then(() => execute(command)) };
}
