import { endsAfter, endsBefore } from '../course.ts';
import type { Fault } from '../switchboard.ts';
import type { Client } from './client.ts';
import { codes, failure, type Request, toFailure } from './envelope.ts';
import { CallError, errnos, RawException } from './errors.ts';
import type { Job } from './jobs.ts';
import { type Context, isJobMethod, type JobMethod, type Method } from './method.ts';
import { isRecord, readArguments } from './model.ts';
import { type Nas, pause, roomName, worldMillisecondsSince } from './nas.ts';
import { mayCall } from './roles.ts';
import { offers } from './versions.ts';

/** Finds methods, asks whether they may be called, runs them, and lets the switchboard spoil it. */
export class Dispatcher {
  readonly #nas: Nas;
  readonly #methods: ReadonlyMap<string, Method>;
  readonly #anonymousCalls = new Map<string, { count: number; since: number }>();

  constructor(nas: Nas, methods: readonly Method[]) {
    this.#nas = nas;
    this.#methods = new Map(methods.map((method) => [method.name, method]));
  }

  find(name: string): Method | undefined {
    return this.#methods.get(name);
  }

  /** Runs one request and sends its answer, if it is to have one. */
  async serve(client: Client, request: Request, signal: AbortSignal): Promise<void> {
    const { id } = request;
    const { switchboard } = this.#nas;
    const fault = switchboard.pass(roomName, request.method, detailOf(request), undefined, client.address);
    if (await endsBefore(fault, this.#nas.signal)) {
      client.cut();
      return;
    }
    const answer = fault?.kind === 'error' ? toAnswer(id, fault) : await this.#answer(client, request, signal);
    if (await endsAfter(fault, this.#nas.signal)) {
      client.cut();
      return;
    }
    // A call that was cancelled with its connection has nobody to answer to.
    if (id !== undefined && !signal.aborted) client.send(answer);
  }

  async #answer(client: Client, { id, method: name, params }: Request, signal: AbortSignal): Promise<object> {
    const method = offers(this.#nas.version, client.endpoint, name) ? this.#methods.get(name) : undefined;
    if (!method) return failure(id, codes.methodNotFound, 'Method does not exist');
    try {
      const result = await this.#call(method, params, this.context(client, signal, id));
      return { jsonrpc: '2.0', result: result ?? null, id };
    } catch (error) {
      return toFailure(id, error, this.#nas.version.traceHasFrames);
    }
  }

  /** What a method is run with. */
  context(client: Client, signal: AbortSignal, messageId?: unknown): Context {
    const context: Context = {
      nas: this.#nas,
      client,
      messageId,
      signal,
      invoke: async (name, args) => {
        const method = this.#methods.get(name);
        if (!method) throw new CallError(`Method '${name}' not found`, errnos.ENOMETHOD);
        return await this.#call(method, args, { ...context, messageId: undefined });
      },
    };
    return context;
  }

  async #call(method: Method, params: readonly unknown[], context: Context): Promise<unknown> {
    await this.authorize(context.client, method);
    const args = readArguments(method.parameters, params);
    if (!isJobMethod(method)) return await method.run(args, context);
    const job = this.startJob(method, args, context);
    if (context.client.options.legacy_jobs) return job.id;
    await job.ended;
    if (job.failure !== undefined) throw job.failure;
    return job.result;
  }

  /** Starts the job of a method whose arguments are already read. */
  startJob(method: JobMethod, args: readonly unknown[], context: Context, pipe?: AsyncIterable<Buffer>): Job {
    if (method.job.reads && !pipe) throw new RawException('ValueError', "Pipe 'input' is not open");
    if (method.job.writes) throw new RawException('ValueError', "Pipe 'output' is not open");
    const request = {
      method: method.name,
      arguments: args,
      owner: context.client.identity?.user.name,
      messageId: context.messageId,
      abortable: method.job.abortable ?? false,
      lock: method.job.lock?.(args),
    };
    return this.#nas.jobs.start(request, (job) => method.work(args, context, job, pipe));
  }

  /** Throws what the middleware answers to somebody who may not call this. */
  async authorize(client: Client, method: Method): Promise<void> {
    if (client.expired) {
      client.expired = false;
      client.identity = undefined;
      throw new CallError('Session is expired', errnos.EACCES);
    }
    if (method.access === 'anyone' || method.access === 'anyone-unlimited') {
      if (method.access === 'anyone' && !client.identity) await this.#limit(method.name, client.address);
      return;
    }
    if (!client.identity) throw new CallError('Not authenticated', errnos.ENOTAUTHENTICATED);
    if (method.access !== 'user' && !mayCall(client.identity.roles, method.access)) {
      throw new CallError('Not authorized', errnos.EACCES);
    }
  }

  /** Before a login: 20 calls a minute for each method and address, a table of 100 of them. */
  async #limit(method: string, address: string): Promise<void> {
    const key = `${method} ${address}`;
    const entry = this.#anonymousCalls.get(key) ?? { count: 0, since: performance.now() };
    if (worldMillisecondsSince(this.#nas, entry.since) > 60_000)
      Object.assign(entry, { count: 0, since: performance.now() });
    entry.count += 1;
    this.#anonymousCalls.set(key, entry);
    if (entry.count <= 20 && this.#anonymousCalls.size < 100) return;
    await pause(this.#nas, 1 + Math.random() * 9);
    throw new CallError('Rate Limit Exceeded', errnos.EBUSY);
  }
}

/** What a test sees of a call. What is secret in a login stays out of it. */
function detailOf({ method, params }: Request): unknown {
  return method.startsWith('auth.') ? undefined : params;
}

/** An injected error: a whole JSON-RPC error object as `body`, or a CallError of this errno or its name and text. */
function toAnswer(id: Request['id'], fault: Extract<Fault, { kind: 'error' }>): object {
  const { body, code, status } = fault;
  if (isRecord(body) && typeof body['code'] === 'number') return { jsonrpc: '2.0', error: body, id: id ?? null };
  const named = Object.entries(errnos).find(([name]) => name === code)?.[1];
  const text = typeof body === 'string' ? body : 'Something went wrong';
  return toFailure(id, new CallError(text, status ?? named ?? errnos.EFAULT), true);
}
