import type { Writable } from 'node:stream';
import type { NasState } from '../nas-state.ts';
import type { ClientConnection } from '../protocol/client-connection.ts';
import type { JobHandle, QueuedJob } from './job-queue.ts';
import type { MethodParameter } from './parameter-model.ts';

/** The caller and the request. */
export interface CallContext {
  readonly nas: NasState;
  readonly client: ClientConnection;
  /** The `id` of the request, which a job records. */
  readonly messageId: unknown;
  /** Aborts when the call is cancelled: with its connection (26), or with the middleware. */
  readonly signal: AbortSignal;
  /** Calls another method in the caller's name, without the interceptor; a job method returns its job's number. */
  readonly invoke: (method: string, args: readonly unknown[]) => Promise<unknown>;
  /** Starts a job with pipes in the caller's name, if the caller is authorized. */
  readonly start: (method: string, args: readonly unknown[], pipes: JobPipes) => Promise<QueuedJob>;
}

/**
 * `anyone`: no login, but then at most 20 calls a minute for each address. `anyone-unlimited`: no login, no limit.
 * `user`: any login. A list: one of these roles, or FULL_ADMIN.
 */
export type MethodAccess = 'anyone' | 'anyone-unlimited' | 'user' | readonly string[];

interface MethodBase {
  readonly name: string;
  readonly parameters: readonly MethodParameter[];
  readonly access: MethodAccess;
}

/** A method that answers directly. */
export interface PlainMethod extends MethodBase {
  run(args: readonly unknown[], context: CallContext): unknown;
}

/** A method that starts a job and answers its id. */
export interface JobMethod extends MethodBase {
  readonly job: {
    readonly lock?: (args: readonly unknown[]) => string;
    readonly abortable?: boolean;
    /** A job that reads an upload can only be started through `/_upload`. */
    readonly reads?: boolean;
    /** A job that writes a download can only be started through `core.download`. */
    readonly writes?: boolean;
  };
  work(args: readonly unknown[], context: CallContext, job: JobHandle, pipes: JobPipes): Promise<unknown>;
}

/** The input and output pipes of a job. */
export interface JobPipes {
  readonly input?: AsyncIterable<Buffer>;
  /** Called when all input is stored, which may be before the job ends. */
  inputStored?(): void;
  readonly output?: Writable;
}

/** A method of either kind. */
export type ApiMethod = PlainMethod | JobMethod;

export const plainMethod = (
  name: string,
  parameters: readonly MethodParameter[],
  access: MethodAccess,
  run: PlainMethod['run'],
): PlainMethod => ({ name, parameters, access, run });

/** Whether a call of the method starts a job. */
export const isJobMethod = (method: ApiMethod): method is JobMethod => 'job' in method;
