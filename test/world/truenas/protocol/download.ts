import { createReadStream, existsSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { applyFaultAfterCall, applyFaultBeforeCall } from '../../faults/apply-fault.ts';
import type { Fault } from '../../faults/call-interceptor.ts';
import { redeemToken } from '../auth/tokens.ts';
import { CallError } from '../middleware/errors.ts';
import { type ApiMethod, type CallContext, plainMethod } from '../middleware/method.ts';
import { delayByLatency } from '../middleware/method-latency.ts';
import {
  booleanModel,
  defaultedField,
  listModel,
  nonEmptyTextModel,
  requiredField,
} from '../middleware/parameter-model.ts';
import { type NasState, sleepInWorldTime, trueNasSimulatorName } from '../nas-state.ts';
import { realPath } from '../storage/dataset-files.ts';

/** Simulated seconds in which the output of a job must be fetched. */
const pickUpSeconds = { straight: 60, buffered: 3600 };
/** Real time that a client has at least, however fast the simulated time runs. */
const minimumPickUpMilliseconds = 1000;
const pipeBytes = 65536;

/** `core.download`, and the job with output. Called in any other way it is refused. */
export const downloadMethods: readonly ApiMethod[] = [
  plainMethod(
    'core.download',
    [
      { name: 'method', field: requiredField(nonEmptyTextModel) },
      { name: 'args', field: requiredField(listModel({ read: (value) => value })) },
      { name: 'filename', field: requiredField(nonEmptyTextModel) },
      { name: 'buffered', field: defaultedField(booleanModel, false) },
    ],
    'user',
    ([method, args, filename, buffered], context) =>
      prepare(context, { method: String(method), args: args as unknown[] }, String(filename), buffered === true),
  ),
  {
    name: 'filesystem.get',
    parameters: [{ name: 'path', field: requiredField(nonEmptyTextModel) }],
    access: ['FULL_ADMIN'],
    job: { writes: true },
    work: ([path], { nas }, _job, { output }) => sendFile(realPath(nas, String(path)), String(path), output),
  },
];

async function sendFile(real: string, shown: string, output: Writable | undefined): Promise<null> {
  if (!existsSync(real) || !statSync(real).isFile()) throw new CallError(`${shown} is not a file`);
  if (output) await pipeline(createReadStream(real), output);
  return null;
}

async function prepare(
  context: CallContext,
  { method, args }: { method: string; args: readonly unknown[] },
  filename: string,
  buffered: boolean,
): Promise<[number, string]> {
  const { nas } = context;
  const output = new PassThrough({ highWaterMark: buffered ? Number.MAX_SAFE_INTEGER : pipeBytes });
  output.on('error', () => undefined);
  const job = await context.start(method, args, { output });
  // The output of a failed job simply ends; the client gets no error.
  void job.ended.then(() => output.end());
  nas.downloads.set(job.id, output);
  expireDownload(nas, job.id, buffered ? pickUpSeconds.buffered : pickUpSeconds.straight).catch(() => undefined);
  const token = await context.invoke('auth.generate_token', [300, { filename, job: job.id }, true, true]);
  return [job.id, `/_download/${job.id}?auth_token=${token}`];
}

async function expireDownload(nas: NasState, job: number, seconds: number): Promise<void> {
  const output = nas.downloads.get(job);
  await Promise.all([sleepInWorldTime(nas, seconds), delay(minimumPickUpMilliseconds, undefined, { ref: false })]);
  if (nas.downloads.get(job) !== output) return;
  nas.downloads.delete(job);
  output?.destroy(new Error('Broken pipe'));
}

/** `GET /_download/<job>`: once for each job, with the token that came with it. */
export async function serveDownload(
  nas: NasState,
  request: IncomingMessage,
  response: ServerResponse,
  life: AbortSignal,
): Promise<void> {
  const fault = nas.switchboard.pass(
    trueNasSimulatorName,
    'GET /_download',
    undefined,
    undefined,
    request.socket.remoteAddress,
  );
  if (await applyFaultBeforeCall(fault, nas.signal)) {
    request.socket.destroy();
    return;
  }
  if (fault?.kind === 'error') {
    response.writeHead(fault.status ?? 500, { connection: 'close' }).end(String(fault.body ?? ''));
    return;
  }
  await delayByLatency(nas, 'GET /_download', life);
  const found = findDownload(nas, new URL(request.url ?? '/', 'http://nas'));
  if (typeof found === 'number') {
    response.writeHead(found, { connection: 'close' }).end();
    return;
  }
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${found.filename}"`,
    connection: 'close',
  });
  await copyToResponse(found.output, response, fault);
  if (await applyFaultAfterCall(fault, nas.signal)) request.socket.destroy();
  else response.end();
}

function findDownload(nas: NasState, url: URL): number | { readonly output: PassThrough; readonly filename: string } {
  const id = Number(/^\/_download\/(\d+)\/?$/.exec(url.pathname)?.[1] ?? Number.NaN);
  if (Number.isNaN(id)) return 404;
  const token = redeemToken(nas, url.searchParams.get('auth_token') ?? '');
  if (token?.attributes['job'] !== id) return 401;
  if (!nas.jobs.find(id)) return 404;
  const output = nas.downloads.get(id);
  nas.downloads.delete(id);
  return output ? { output, filename: String(token.attributes['filename']) } : 410;
}

/** Copies the job's output; for an answer with a `cut` fault only the bytes that pass. */
async function copyToResponse(output: PassThrough, response: ServerResponse, fault: Fault | undefined): Promise<void> {
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
