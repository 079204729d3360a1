import { z } from 'zod';
import type { CallInterceptor, Fault } from './faults/call-interceptor.ts';
import type { RunningSimulator } from './simulator.ts';

/** A fault that another process requests. */
const FaultCommand = z.strictObject({
  /** Name of the simulator; optional when only one runs. */
  simulator: z.string().optional(),
  /** A regular expression on the name of the call: `^vm\.create$`, `^POST /schematics$`, `MachineService/Bootstrap$`. */
  fail: z.string(),
  with: z.enum(['drop', 'lose-reply', 'silence', 'late', 'cut', 'error']),
  /** For `silence`, `late` and `cut`: the delay before the end. */
  milliseconds: z.int().positive().default(1000),
  /** For `cut`: the direction that is cut, and the number of bytes that pass. */
  of: z.enum(['request', 'answer']).default('answer'),
  bytes: z.int().nonnegative().default(0),
  /** For `silence`: the work is done anyway. */
  done: z.boolean().default(false),
  /** For `error`, in the protocol's own terms: an HTTP status, a gRPC code or an errno by name, a body. */
  status: z.int().optional(),
  code: z.string().optional(),
  body: z.unknown().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  /** The number of calls that get the fault, and the number of calls that pass before. */
  times: z.int().positive().default(1),
  skip: z.int().nonnegative().default(0),
});
type FaultCommand = z.infer<typeof FaultCommand>;

const RestartCommand = z.strictObject({ restart: z.string() });
const ClearCommand = z.strictObject({ clear: z.literal(true) });

/** The target of control commands. */
export interface CommandTargets {
  readonly switchboard: CallInterceptor;
  readonly simulators: readonly RunningSimulator[];
}

/** Carries out one line of JSON: a fault, `{"restart": SIMULATOR}` or `{"clear": true}`. Throws an Error with a sentence. */
export async function executeCommand(line: string, subjects: CommandTargets): Promise<void> {
  const order = parseJson(line);
  if ('fail' in order) return planFault(parseCommand(FaultCommand, order), subjects);
  if ('restart' in order) return await restartSimulator(parseCommand(RestartCommand, order).restart, subjects);
  parseCommand(ClearCommand, order);
  subjects.switchboard.clear();
}

async function restartSimulator(name: string, { simulators }: CommandTargets): Promise<void> {
  const simulator = simulators.find(({ line }) => line.simulator === name);
  if (!simulator)
    throw new Error(
      `there is no simulator ${name}; there is ${simulators.map(({ line }) => line.simulator).join(', ')}`,
    );
  if (!simulator.restart) throw new Error(`${name} does not restart`);
  await simulator.restart();
}

function parseCommand<T>(schema: z.ZodType<T>, order: object): T {
  const result = schema.safeParse(order);
  if (result.success) return result.data;
  throw new Error(`not an order: ${z.prettifyError(result.error)}`);
}

/** The faults of `--faults FILE`: a list. Throws a RangeError with a sentence. */
export function parseFaultFile(content: unknown): FaultCommand[] {
  const faults = z.array(FaultCommand).safeParse(content);
  if (!faults.success) throw new RangeError(`--faults: ${z.prettifyError(faults.error)}`);
  return faults.data;
}

/** Plans a fault for the next calls. */
export function planFault(
  order: FaultCommand,
  { switchboard, simulators }: Pick<CommandTargets, 'switchboard'> & NamedSimulators,
): void {
  const names = simulators.map(({ line }) => line.simulator);
  const simulator = order.simulator ?? names[0];
  if (simulator === undefined || (order.simulator === undefined && names.length > 1)) {
    throw new RangeError(`say which simulator fails: ${names.join(', ')}`);
  }
  if (!names.includes(simulator))
    throw new RangeError(`there is no simulator ${simulator}; there is ${names.join(', ')}`);
  switchboard.fail(simulator, toPattern(order.fail), toFault(order), order.times, order.skip);
}

interface NamedSimulators {
  readonly simulators: readonly { readonly line: { readonly simulator: string } }[];
}

function toFault(order: FaultCommand): Fault {
  const { milliseconds, done, of, bytes } = order;
  if (order.with === 'late') return { kind: 'late', milliseconds };
  if (order.with === 'silence') return { kind: 'silence', milliseconds, done };
  if (order.with === 'cut') return { kind: 'cut', of, bytes, milliseconds };
  if (order.with !== 'error') return { kind: order.with };
  const { status, code, body, headers } = order;
  return {
    kind: 'error',
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { code }),
    ...(body === undefined ? {} : { body }),
    ...(headers === undefined ? {} : { headers }),
  };
}

function toPattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw new RangeError(`${text} is not a regular expression`, { cause: error });
  }
}

function parseJson(line: string): object {
  try {
    const order: unknown = JSON.parse(line);
    if (typeof order === 'object' && order !== null) return order;
  } catch {
    // The error is thrown below.
  }
  throw new Error('not an order: a JSON object is wanted');
}
