import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, FormData, request } from 'undici';
import { WebSocket } from 'ws';
import { CallInterceptor } from '../../../world/faults/call-interceptor.ts';
import type { MachineDescription, MachineRunner } from '../../../world/machine-runner/machine.ts';
import { ScaledClock } from '../../../world/scaled-clock.ts';
import type { SimulatorOptions } from '../../../world/simulator.ts';
import { startTrueNasSimulator, type TrueNasSimulator } from '../../../world/truenas/index.ts';

/** A machine without a guest: it is on until the power switch, or until the ACPI button unless it ignores it. */
export class IdleMachineRunner implements MachineRunner {
  readonly started: MachineDescription[] = [];
  minding = true;
  stuck: string | undefined;

  start(machine: MachineDescription) {
    this.started.push(machine);
    let off = (): void => undefined;
    const exited = new Promise<void>((resolve) => {
      off = resolve;
    });
    return {
      exited,
      stuck: this.stuck,
      kill: () => off(),
      pressPowerButton: () => {
        if (this.minding) off();
      },
    };
  }
}

/** A raw answer. */
export interface RawReply {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  readonly result?: any;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
    readonly data?: any;
  };
  readonly id?: unknown;
}

/** A client for tests. It shares no code with the product's. */
export class RawClient {
  readonly socket: WebSocket;
  readonly messages: Record<string, unknown>[] = [];
  closed: { code: number; reason: string } | undefined;
  #next = 1;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => this.messages.push(JSON.parse(data.toString())));
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
    });
    socket.on('error', () => undefined);
  }

  static async open(url: string, ca?: string): Promise<RawClient> {
    const client = new RawClient(new WebSocket(url, ca ? { ca } : {}));
    await waitUntilHolds(() => client.socket.readyState !== WebSocket.CONNECTING, 'the socket opens');
    return client;
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  post(method: string, ...params: unknown[]): number {
    const id = this.#next++;
    this.send({ jsonrpc: '2.0', id, method, params });
    return id;
  }

  async answerTo(id: unknown): Promise<RawReply> {
    const find = () =>
      this.messages.find((message) => 'id' in message && message['id'] === id && !('method' in message));
    await waitUntilHolds(() => find() !== undefined || this.closed !== undefined, `an answer to ${id}`);
    const found = find();
    if (!found) throw new Error(`closed: ${JSON.stringify(this.closed)}`);
    return found as RawReply;
  }

  /** Calls and returns the whole answer. */
  async ask(method: string, ...params: unknown[]): Promise<RawReply> {
    return this.answerTo(this.post(method, ...params));
  }

  /** Calls, and throws when the answer is an error. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  async call(method: string, ...params: unknown[]): Promise<any> {
    const answer = await this.ask(method, ...params);
    if (answer.error) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
    return answer.result;
  }

  /** Calls a job method and waits for its end. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  async job(method: string, ...params: unknown[]): Promise<any> {
    return this.jobEnd(await this.call(method, ...params));
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  async jobEnd(id: number): Promise<any> {
    const byDeadline = Date.now() + 10_000;
    while (Date.now() < byDeadline) {
      const [job] = await this.call('core.get_jobs', [['id', '=', id]]);
      if (['SUCCESS', 'FAILED', 'ABORTED'].includes(job?.state)) return job;
      await delay(5);
    }
    throw new Error(`job ${id} does not end`);
  }

  close(): void {
    this.socket.terminate();
  }
}

/** A simulator under test and its dependencies. */
export interface TrueNasFixture {
  readonly simulator: TrueNasSimulator;
  readonly runner: IdleMachineRunner;
  readonly switchboard: CallInterceptor;
  readonly ca: string;
  /** A connection that is logged in as the administrator. */
  login(): Promise<RawClient>;
  /** A connection without a login. */
  connect(path?: string): Promise<RawClient>;
  upload(path: string, content: string | Buffer, options?: object): Promise<{ status: number; text: string }>;
  post(form: FormData, headers?: Record<string, string>): Promise<{ status: number; text: string }>;
  close(): Promise<void>;
}

/** A simulator with an idle runner, a thousand times faster than real time, and a cleanup function. */
export async function startTrueNasFixture(
  options: { seed?: unknown; version?: string; scale?: number; machineRunner?: string } = {},
): Promise<TrueNasFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'world-truenas-'));
  const runner = new IdleMachineRunner();
  const switchboard = new CallInterceptor();
  const simulatorOptions: SimulatorOptions = {
    host: '127.0.0.1',
    port: 0,
    folder,
    seed: options.seed,
    clock: new ScaledClock(options.scale ?? 0.001),
    switchboard,
    runner,
    extra: {
      ...(options.version && { version: options.version }),
      ...(options.machineRunner && { 'machine-runner': options.machineRunner }),
    },
  };
  const simulator = await startTrueNasSimulator(simulatorOptions).catch(async (error: unknown) => {
    await rm(folder, { recursive: true, force: true });
    throw error;
  });
  const ca = await readFile(simulator.line.ca ?? '', 'utf8');
  const agent = new Agent({ connect: { ca } });
  const clients: RawClient[] = [];
  const connect = async (path = '/api/current') => {
    const client = await RawClient.open(new URL(path, simulator.line.url).href, ca);
    clients.push(client);
    return client;
  };
  const { user: username, apiKey } = simulator.line.credentials;
  const post: TrueNasFixture['post'] = async (form, headers = { authorization: `Bearer ${apiKey}` }) => {
    const url = new URL('/_upload', simulator.line.url.replace('wss:', 'https:'));
    const { Response } = await import('undici');
    const encoded = new Response(form);
    const body = Buffer.from(await encoded.arrayBuffer());
    const type = encoded.headers.get('content-type') ?? '';
    const answer = await request(url, {
      method: 'POST',
      body,
      headers: { ...headers, 'content-type': type },
      dispatcher: agent,
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  };
  return {
    simulator,
    runner,
    switchboard,
    ca,
    connect,
    post,
    login: async () => {
      const client = await connect();
      const answer = await client.call('auth.login_ex', { mechanism: 'API_KEY_PLAIN', username, api_key: apiKey });
      if (answer.response_type !== 'SUCCESS') throw new Error(`login: ${answer.response_type}`);
      return client;
    },
    upload: (path, content, putOptions = {}) => {
      const form = new FormData();
      form.append('data', JSON.stringify({ method: 'filesystem.put', params: [path, putOptions] }));
      form.append('file', new Blob([content]), 'file');
      return post(form);
    },
    close: async () => {
      for (const client of clients) client.close();
      await agent.close();
      await simulator.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until a condition holds, at most five seconds. */
export async function waitUntilHolds(holds: () => boolean, what: string): Promise<void> {
  const byDeadline = Date.now() + 30_000;
  while (!holds()) {
    if (Date.now() > byDeadline) throw new Error(`waited in vain until ${what}`);
    await delay(2);
  }
}
