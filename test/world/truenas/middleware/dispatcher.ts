import { applyFaultAfterCall, applyFaultBeforeCall } from '../../faults/apply-fault.ts';
import type { Fault } from '../../faults/call-interceptor.ts';
import { hasAnyRole } from '../auth/roles.ts';
import { elapsedWorldMilliseconds, type NasState, sleepInWorldTime, trueNasSimulatorName } from '../nas-state.ts';
import type { ClientConnection } from '../protocol/client-connection.ts';
import { errorReply, missingMethodReply, type RpcRequest, resultReply } from '../protocol/json-rpc.ts';
import { offersMethod } from '../versions.ts';
import { CallError, errnos, PythonException } from './errors.ts';
import type { QueuedJob } from './job-queue.ts';
import { type ApiMethod, type CallContext, isJobMethod, type JobMethod, type JobPipes } from './method.ts';
import { delayByLatency } from './method-latency.ts';
import { isPlainObject, parseMethodArguments } from './parameter-model.ts';

/** Finds methods, authorizes calls, runs them, and applies the faults of the interceptor. */
export class MethodDispatcher {
  readonly #nas: NasState;
  #methods: ReadonlyMap<string, ApiMethod> = new Map();
  readonly #anonymousCalls = new Map<string, { count: number; since: number }>();

  constructor(nas: NasState, methods: readonly ApiMethod[]) {
    this.#nas = nas;
    this.use(methods);
  }

  /** Replaces all methods. */
  use(methods: readonly ApiMethod[]): void {
    this.#methods = new Map(methods.map((method) => [method.name, method]));
  }

  find(name: string): ApiMethod | undefined {
    return this.#methods.get(name);
  }

  /** Runs one request and sends its answer, if it has one. */
  async serve(client: ClientConnection, request: RpcRequest, signal: AbortSignal): Promise<void> {
    const { id } = request;
    const { switchboard } = this.#nas;
    const fault = switchboard.pass(
      trueNasSimulatorName,
      request.method,
      interceptedDetails(request),
      undefined,
      client.address,
    );
    if (await applyFaultBeforeCall(fault, this.#nas.signal)) {
      client.cut();
      return;
    }
    const answer = fault?.kind === 'error' ? this.#faultReply(id, fault) : await this.#answer(client, request, signal);
    if (await applyFaultAfterCall(fault, this.#nas.signal)) {
      client.cut();
      return;
    }
    // A call that was cancelled with its connection cannot be answered.
    if (id !== undefined && !signal.aborted) client.send(answer);
  }

  /** An injected error: a whole JSON-RPC error object as `body`, or a CallError of this errno or its name and text. */
  #faultReply(id: RpcRequest['id'], { body, code, status }: Extract<Fault, { kind: 'error' }>): object {
    if (isPlainObject(body) && typeof body['code'] === 'number') return { jsonrpc: '2.0', error: body, id: id ?? null };
    const named = Object.entries(errnos).find(([name]) => name === code)?.[1];
    const text = typeof body === 'string' ? body : 'Something went wrong';
    return errorReply(id, new CallError(text, status ?? named ?? errnos.EFAULT), this.#nas.version.traceHasFrames);
  }

  async #answer(
    client: ClientConnection,
    { id, method: name, params }: RpcRequest,
    signal: AbortSignal,
  ): Promise<object> {
    const method = this.#offered(client, name);
    if (!method) return missingMethodReply(id);
    try {
      if (!isJobMethod(method)) await delayByLatency(this.#nas, name, signal);
      return resultReply(id, await this.#call(method, params, this.context(client, signal, id)));
    } catch (error) {
      return errorReply(id, error, this.#nas.version.traceHasFrames);
    }
  }

  #offered(client: ClientConnection, name: string): ApiMethod | undefined {
    return offersMethod(this.#nas.version, client.endpoint, name) ? this.#methods.get(name) : undefined;
  }

  /** The context of a method call. */
  context(client: ClientConnection, signal: AbortSignal, messageId?: unknown): CallContext {
    const context: CallContext = {
      nas: this.#nas,
      client,
      messageId,
      signal,
      invoke: async (name, args) => {
        const method = this.#methods.get(name);
        if (!method) throw new CallError(`Method '${name}' not found`, errnos.ENOMETHOD);
        return await this.#call(method, args, { ...context, messageId: undefined });
      },
      start: async (name, args, pipes) => {
        const method = this.#offered(client, name);
        if (!method) throw new CallError(`Method '${name}' not found`, errnos.ENOMETHOD);
        await this.authorize(client, method);
        if (!isJobMethod(method)) throw new PythonException('AttributeError', `'${name}' is not a job`);
        return this.startJob(method, parseMethodArguments(method.parameters, args), context, pipes);
      },
    };
    return context;
  }

  async #call(method: ApiMethod, params: readonly unknown[], context: CallContext): Promise<unknown> {
    await this.authorize(context.client, method);
    const args = parseMethodArguments(method.parameters, params);
    if (!isJobMethod(method)) return await method.run(args, context);
    const job = this.startJob(method, args, context);
    if (context.client.options.legacy_jobs) return job.id;
    await job.ended;
    if (job.failure !== undefined) throw job.failure;
    return job.result;
  }

  /** Starts the job of a method whose arguments are already parsed. */
  startJob(method: JobMethod, args: readonly unknown[], context: CallContext, pipes: JobPipes = {}): QueuedJob {
    const { input, output } = pipes;
    if (method.job.reads && !input) throw new PythonException('ValueError', "Pipe 'input' is not open");
    if (method.job.writes && !output) throw new PythonException('ValueError', "Pipe 'output' is not open");
    const request = {
      method: method.name,
      arguments: args,
      owner: context.client.identity?.user.name,
      messageId: context.messageId,
      abortable: method.job.abortable ?? false,
      lock: method.job.lock?.(args),
    };
    return this.#nas.jobs.start(request, async (job) => {
      // An upload is received without a delay; the latency follows it.
      const isUpload = method.job.reads === true;
      if (!isUpload) await delayByLatency(this.#nas, method.name, job.signal);
      const result = await method.work(args, context, job, pipes);
      if (isUpload) await delayByLatency(this.#nas, method.name, job.signal);
      return result;
    });
  }

  /** Throws the middleware's error when the caller may not call the method. */
  async authorize(client: ClientConnection, method: ApiMethod): Promise<void> {
    if (method.access === 'anyone' || method.access === 'anyone-unlimited') {
      if (method.access === 'anyone' && !client.identity) await this.#limit(method.name, client.address);
      return;
    }
    if (!client.identity) throw new CallError('Not authenticated', errnos.ENOTAUTHENTICATED);
    if (method.access !== 'user' && !hasAnyRole(client.identity.roles, method.access)) {
      throw new CallError('Not authorized', errnos.EACCES);
    }
  }

  /** Before a login: 20 calls a minute for each method and address, in a table of 100 entries. */
  async #limit(method: string, address: string): Promise<void> {
    const key = `${method} ${address}`;
    const entry = this.#anonymousCalls.get(key) ?? { count: 0, since: performance.now() };
    if (elapsedWorldMilliseconds(this.#nas, entry.since) > 60_000)
      Object.assign(entry, { count: 0, since: performance.now() });
    entry.count += 1;
    this.#anonymousCalls.set(key, entry);
    if (entry.count <= 20 && this.#anonymousCalls.size < 100) return;
    await sleepInWorldTime(this.#nas, 1 + Math.random() * 9);
    throw new CallError('Rate Limit Exceeded', errnos.EBUSY);
  }
}

/** The recorded arguments of a call. Secrets of a login are removed. */
function interceptedDetails({ method, params }: RpcRequest): unknown {
  return method.startsWith('auth.') ? undefined : params;
}
