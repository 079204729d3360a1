import { randomUUID } from 'node:crypto';
import { create, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import { Code as ErrorCode, ErrorSchema } from '../../../../src/talos/gen/common_pb.ts';
import {
  PhaseEvent_Action,
  PhaseEventSchema,
  SequenceEvent_Action,
  SequenceEventSchema,
  TaskEvent_Action,
  TaskEventSchema,
} from '../../../../src/talos/gen/events_pb.ts';
import type { BootOutcome, Sequence, TalosNode, TalosStage } from '../node.ts';
import type { SequencePhase } from './phases.ts';

const stages: Record<Sequence, TalosStage> = {
  install: 'installing',
  reboot: 'rebooting',
  shutdown: 'shutting down',
  reset: 'resetting',
};

/**
 * The sequences that may replace a running one (talos: runtime/sequencer.go). No other may; a boot is replaced by any
 * of these.
 */
const interruptibleBy: Partial<Record<Sequence, readonly Sequence[]>> = { reboot: ['reboot'], reset: ['reboot'] };

/**
 * Starts a sequence in the background and returns its actor at once. Every failure is only an event, also the conflict
 * with a running sequence. `takesOver`: replaces every running sequence.
 */
export function startSequence(
  node: TalosNode,
  sequence: Sequence,
  phases: readonly SequencePhase[],
  ending: BootOutcome,
  { takesOver = false } = {},
): string {
  const actorId = randomUUID();
  const running = node.running;
  if (running && !takesOver && !interruptibleBy[running.sequence]?.includes(sequence)) {
    // Without an actor: the caller cannot correlate it.
    publishFailure(node, sequence, ErrorCode.LOCKED, 'sequence not started: locked');
    node.log(`${sequence} failed: locked`);
    return actorId;
  }
  running?.abort.abort(new Error(`${sequence} takes over`));
  const abort = new AbortController();
  node.running = { sequence, abort };
  const say = phasePublisher(node, actorId);
  say(SequenceEventSchema, { sequence, action: SequenceEvent_Action.START });
  node.setStage(stages[sequence]);
  node.spawn(sequence, async () => {
    try {
      await runPhases(node, sequence, phases, {
        actorId,
        signal: AbortSignal.any([node.signal, abort.signal]),
      }).finally(() => say(SequenceEventSchema, { sequence, action: SequenceEvent_Action.STOP }));
      node.end(ending);
    } catch (error) {
      if (node.signal.aborted || abort.signal.aborted) return;
      node.running = undefined;
      const message = error instanceof Error ? error.message : String(error);
      node.log(`${sequence} failed: ${message}`);
      publishFailure(node, sequence, ErrorCode.FATAL, `sequence failed: ${message}`, actorId);
      // The stage that the real node shows from here on, though it does not reboot by itself (talos:
      // machine_status.go).
      if (sequence !== 'shutdown') node.setStage('rebooting');
    }
  });
  return actorId;
}

async function runPhases(
  node: TalosNode,
  sequence: Sequence,
  phases: readonly SequencePhase[],
  { actorId, signal }: { readonly actorId: string; readonly signal: AbortSignal },
): Promise<void> {
  const say = phasePublisher(node, actorId);
  const sleep = (seconds: number) => node.world.clock.sleep(seconds, signal);
  for (const [index, { name, task, run }] of phases.entries()) {
    node.log(`phase ${name} (${index + 1}/${phases.length}): 1 tasks(s)`);
    say(PhaseEventSchema, { phase: name, action: PhaseEvent_Action.START });
    say(TaskEventSchema, { task, action: TaskEvent_Action.START });
    try {
      await run?.(sleep);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`error running phase ${index + 1} in ${sequence} sequence: task 1/1: failed, ${reason}`, {
        cause: error,
      });
    } finally {
      say(TaskEventSchema, { task, action: TaskEvent_Action.STOP });
      say(PhaseEventSchema, { phase: name, action: PhaseEvent_Action.STOP });
    }
    signal.throwIfAborted();
  }
}

const phasePublisher =
  (node: TalosNode, actorId: string) =>
  <S extends DescMessage>(schema: S, payload: MessageInitShape<S>): void =>
    node.events.publish(schema, payload, actorId);

function publishFailure(node: TalosNode, sequence: Sequence, code: ErrorCode, message: string, actorId = ''): void {
  const error = create(ErrorSchema, { code, message });
  node.events.publish(SequenceEventSchema, { sequence, action: SequenceEvent_Action.NOOP, error }, actorId);
}
