import type { z } from 'zod';
import type { TrueNasSession } from './session.ts';

/** Options of a call. */
export interface TrueNasCallOptions {
  readonly signal: AbortSignal;
  /** Timeout in seconds; default 30. */
  readonly seconds?: number;
}

/** The part of the client with which events are received and what they report is read. */
export interface TrueNasSubscriber {
  readonly host: string;
  /** Aborts when the client is closed. */
  readonly over: AbortSignal;
  subscribe(collection: string, options: TrueNasCallOptions): Promise<void>;
  session(signal: AbortSignal): Promise<TrueNasSession>;
  read<T>(method: string, params: readonly unknown[], schema: z.ZodType<T>, options: TrueNasCallOptions): Promise<T>;
}
