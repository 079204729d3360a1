import { createReadStream, existsSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { PassThrough, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { endsAfter, endsBefore } from '../course.ts';
import type { Fault } from '../switchboard.ts';
import { dump } from './dump.ts';
import { CallError } from './errors.ts';
import { takeTime } from './latency.ts';
import { nameOf } from './machines.ts';
import type { Context, Method } from './method.ts';
import { bool, integer, list, nonEmpty, object, required, withDefault } from './model.ts';
import { type Nas, pause, roomName } from './nas.ts';
import { realPath } from './storage.ts';
import { takeToken } from './tokens.ts';
import { getVm } from './vm-table.ts';

/** World seconds in which somebody has to come for what a job writes. */
const patience = { straight: 60, buffered: 3600 };
/** However fast the world goes: whoever comes at once is not too late. */
const atOnceMs = 1000;
const pipeBytes = 65536;

const saveOptions = object({
  secretseed: withDefault(bool, false),
  pool_keys: withDefault(bool, false),
  root_authorized_keys: withDefault(bool, false),
});

/** `core.download`, and the jobs that write something to be fetched. Called in any other way these are refused. */
export const downloadMethods: readonly Method[] = [
  {
    name: 'core.download',
    parameters: [
      { name: 'method', field: required(nonEmpty) },
      { name: 'args', field: required(list({ read: (value) => value })) },
      { name: 'filename', field: required(nonEmpty) },
      { name: 'buffered', field: withDefault(bool, false) },
    ],
    access: 'user',
    run: ([method, args, filename, buffered], context) =>
      prepare(context, { method: String(method), args: args as unknown[] }, String(filename), buffered === true),
  },
  {
    name: 'filesystem.get',
    parameters: [{ name: 'path', field: required(nonEmpty) }],
    access: ['FULL_ADMIN'],
    job: { writes: true },
    work: ([path], { nas }, _job, { output }) => send(realPath(nas, String(path)), String(path), output),
  },
  {
    // The real one is a database, or an archive of it; only that it can be fetched is played.
    name: 'config.save',
    parameters: [{ name: 'options', field: withDefault(saveOptions, {}) }],
    access: ['FULL_ADMIN'],
    job: { writes: true },
    work: async (_, { nas }, _job, { output }) => {
      const { vms, devices } = dump(nas);
      output?.end(JSON.stringify({ vms, devices }));
      return null;
    },
  },
  {
    name: 'vm.log_file_download',
    parameters: [{ name: 'id', field: required(integer()) }],
    access: ['VM_READ'],
    job: { writes: true },
    work: ([id], { nas }, _job, { output }) => {
      const name = `${Number(id)}_${nameOf(getVm(nas, id))}.log`;
      return send(join(nas.folder, 'log', name), `/var/log/libvirt/qemu/${name}`, output);
    },
  },
];

async function send(real: string, shown: string, output: Writable | undefined): Promise<null> {
  if (!existsSync(real) || !statSync(real).isFile()) throw new CallError(`${shown} is not a file`);
  if (output) await pipeline(createReadStream(real), output);
  return null;
}

async function prepare(
  context: Context,
  { method, args }: { method: string; args: readonly unknown[] },
  filename: string,
  buffered: boolean,
): Promise<[number, string]> {
  const { nas } = context;
  const output = new PassThrough({ highWaterMark: buffered ? Number.MAX_SAFE_INTEGER : pipeBytes });
  output.on('error', () => undefined);
  const job = await context.start(method, args, { output });
  // What a job that failed has written is all there is; nobody is told.
  void job.ended.then(() => output.end());
  nas.downloads.set(job.id, output);
  giveUp(nas, job.id, buffered ? patience.buffered : patience.straight).catch(() => undefined);
  const token = await context.invoke('auth.generate_token', [300, { filename, job: job.id }, true, true]);
  return [job.id, `/_download/${job.id}?auth_token=${token}`];
}

async function giveUp(nas: Nas, job: number, seconds: number): Promise<void> {
  const output = nas.downloads.get(job);
  await Promise.all([pause(nas, seconds), delay(atOnceMs, undefined, { ref: false })]);
  if (nas.downloads.get(job) !== output) return;
  nas.downloads.delete(job);
  output?.destroy(new Error('Broken pipe'));
}

/** `GET /_download/<job>`: once for each job, with the token that came with it. */
export async function serveDownload(
  nas: Nas,
  request: IncomingMessage,
  response: ServerResponse,
  life: AbortSignal,
): Promise<void> {
  const fault = nas.switchboard.pass(roomName, 'GET /_download', undefined, undefined, request.socket.remoteAddress);
  if (await endsBefore(fault, nas.signal)) {
    request.socket.destroy();
    return;
  }
  if (fault?.kind === 'error') {
    response.writeHead(fault.status ?? 500, { connection: 'close' }).end(String(fault.body ?? ''));
    return;
  }
  await takeTime(nas, 'GET /_download', life);
  const found = find(nas, new URL(request.url ?? '/', 'http://nas'));
  if (typeof found === 'number') {
    response.writeHead(found, { connection: 'close' }).end();
    return;
  }
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${found.filename}"`,
    connection: 'close',
  });
  await copy(found.output, response, fault);
  if (await endsAfter(fault, nas.signal)) request.socket.destroy();
  else response.end();
}

function find(nas: Nas, url: URL): number | { readonly output: PassThrough; readonly filename: string } {
  const id = Number(/^\/_download\/(\d+)\/?$/.exec(url.pathname)?.[1] ?? Number.NaN);
  if (Number.isNaN(id)) return 404;
  const token = takeToken(nas, url.searchParams.get('auth_token') ?? '');
  if (token?.attributes['job'] !== id) return 401;
  if (!nas.jobs.find(id)) return 404;
  const output = nas.downloads.get(id);
  nas.downloads.delete(id);
  return output ? { output, filename: String(token.attributes['filename']) } : 410;
}

/** Copies what the job writes; of an answer that a fault cuts, the bytes that it lets through. */
async function copy(output: PassThrough, response: ServerResponse, fault: Fault | undefined): Promise<void> {
  let left = fault?.kind === 'cut' && fault.of === 'answer' ? fault.bytes : Number.POSITIVE_INFINITY;
  if (fault?.kind === 'lose-reply') left = 0;
  response.once('close', () => output.destroy());
  for await (const chunk of output as AsyncIterable<Buffer>) {
    const part = chunk.subarray(0, Math.min(chunk.length, left));
    left -= part.length;
    if (part.length > 0 && !response.write(part)) await new Promise((resolve) => response.once('drain', resolve));
    if (left <= 0) return;
  }
}
