import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { applyFaultAfterCall, applyFaultBeforeCall } from '../../faults/apply-fault.ts';
import { hasAnyRole } from '../auth/roles.ts';
import { identifyRequest } from '../auth/tokens.ts';
import type { MethodDispatcher } from '../middleware/dispatcher.ts';
import { ArgumentsError, CallError } from '../middleware/errors.ts';
import type { QueuedJob } from '../middleware/job-queue.ts';
import { isJobMethod } from '../middleware/method.ts';
import { delayByLatency } from '../middleware/method-latency.ts';
import { isPlainObject, parseMethodArguments } from '../middleware/parameter-model.ts';
import { type NasState, trueNasSimulatorName } from '../nas-state.ts';
import { ClientConnection } from './client-connection.ts';
import { boundaryOf, type MultipartPart, readMultipartParts } from './multipart.ts';

interface Reply {
  readonly status: number;
  readonly body?: string;
}

/** Ends an upload with a status. */
class UploadRejected extends Error {
  readonly reply: Reply;

  constructor(status: number, body = '') {
    super(body);
    this.reply = { status, body };
  }
}

/**
 * `POST /_upload`: a `data` part that names a method, then `file` parts for its pipe. 200 is sent when the bytes are in
 * the file; the job may still run, and fail, after that.
 */
export async function serveUpload(
  nas: NasState,
  dispatcher: MethodDispatcher,
  request: IncomingMessage,
  response: ServerResponse,
  isSecure: boolean,
  life: AbortSignal,
): Promise<void> {
  const fault = nas.switchboard.pass(
    trueNasSimulatorName,
    'POST /_upload',
    undefined,
    undefined,
    request.socket.remoteAddress,
  );
  if (await applyFaultBeforeCall(fault, nas.signal)) {
    request.socket.destroy();
    return;
  }
  const reply =
    fault?.kind === 'error'
      ? {
          status: fault.status ?? 500,
          body: typeof fault.body === 'string' ? fault.body : JSON.stringify(fault.body ?? ''),
        }
      : await receiveUpload(nas, dispatcher, request, isSecure, life).catch(toReply);
  if (await applyFaultAfterCall(fault, nas.signal)) {
    request.socket.destroy();
    return;
  }
  const type = reply.status === 200 ? 'application/json' : 'text/plain; charset=utf-8';
  response.writeHead(reply.status, { 'content-type': type, connection: 'close' }).end(reply.body ?? '');
  request.resume();
}

function toReply(error: unknown): Reply {
  if (error instanceof UploadRejected) return error.reply;
  if (error instanceof CallError) return { status: 412, body: error.reason };
  if (error instanceof ArgumentsError) return { status: 500, body: error.reason };
  return { status: 500, body: error instanceof Error ? error.message : String(error) };
}

async function receiveUpload(
  nas: NasState,
  dispatcher: MethodDispatcher,
  request: IncomingMessage,
  isSecure: boolean,
  life: AbortSignal,
): Promise<Reply> {
  const boundary = boundaryOf(request.headers['content-type']);
  if (!boundary) throw new UploadRejected(500, 'Content-Type must be multipart/*');
  const parts = readMultipartParts(request, boundary);
  const call = await readCall(await nextPart(parts));
  const identity = identifyRequest(nas, request);
  if (!identity) throw new UploadRejected(401, '401: Unauthorized');
  await delayByLatency(nas, 'POST /_upload', life);
  const client = new ClientConnection({ address: request.socket.remoteAddress ?? '', isSecure, endpoint: 'current' });
  client.identity = identity;

  const first = await nextPart(parts);
  if (first?.name !== 'file') throw new UploadRejected(405, '"file" not found as second part on payload');
  const method = dispatcher.find(call.method);
  if (!method) throw new UploadRejected(422, `[ENOMETHOD] Method '${call.method}' not found`);
  if (Array.isArray(method.access) && !hasAnyRole(identity.roles, method.access))
    throw new UploadRejected(403, '403: Forbidden');
  if (!isJobMethod(method)) throw new UploadRejected(500, `'${call.method}' is not a job`);

  const args = parseMethodArguments(method.parameters, call.params);
  const pipe = new PassThrough({ highWaterMark: 65536 });
  let inputStored = (): void => {};
  const stored = new Promise<void>((resolve) => {
    inputStored = resolve;
  });
  const job = dispatcher.startJob(method, args, dispatcher.context(client, life), { input: pipe, inputStored });
  try {
    await copyPart(pipe, first, job);
    await expectNoMore(parts, nas.version.uploadFiles - 1);
  } finally {
    // A broken upload ends the pipe like a complete one: the job treats the received bytes as the whole file.
    pipe.end();
  }
  // The file is complete at this point, and the job may still run.
  await Promise.race([stored, job.ended]);
  return { status: 200, body: JSON.stringify({ job_id: job.id }) };
}

async function nextPart(parts: AsyncGenerator<MultipartPart>): Promise<MultipartPart | undefined> {
  const { value, done } = await parts.next();
  return done ? undefined : value;
}

async function readCall(part: MultipartPart | undefined): Promise<{ method: string; params: unknown[] }> {
  if (!part) throw new UploadRejected(405, 'No part found on payload');
  if (part.name !== 'data') throw new UploadRejected(405, '"data" part must be the first on payload');
  const chunks: Buffer[] = [];
  for await (const chunk of part.body) chunks.push(chunk);
  let data: unknown;
  try {
    data = JSON.parse(Buffer.concat(chunks).toString());
  } catch (error) {
    throw new UploadRejected(400, error instanceof Error ? error.message : String(error));
  }
  if (!isPlainObject(data) || !('method' in data)) throw new UploadRejected(422);
  return { method: String(data['method']), params: (data['params'] as unknown[] | null | undefined) ?? [] };
}

/** Copies a part into the pipe at the job's speed; bytes that an ended job does not read are discarded. */
async function copyPart(pipe: PassThrough, part: MultipartPart, job: QueuedJob): Promise<void> {
  let isDead = false;
  const dead = job.ended.then(() => {
    isDead = true;
  });
  for await (const chunk of part.body) {
    if (isDead || pipe.write(chunk)) continue;
    await Promise.race([new Promise((resolve) => pipe.once('drain', resolve)), dead]);
  }
}

async function expectNoMore(parts: AsyncGenerator<MultipartPart>, allowed: number): Promise<void> {
  let count = 0;
  for await (const part of parts) {
    if (part.name !== 'file') throw new UploadRejected(405, `Unknown payload part '${part.name}'`);
    count += 1;
    if (count > allowed) throw new UploadRejected(405, 'Too many uploaded files');
  }
}
