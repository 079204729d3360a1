import { randomUUID } from 'node:crypto';
import { cordonNode } from '../kubernetes/cordon.ts';
import type { BootOutcome, Sequence, TalosNode, TalosStage } from '../node.ts';
import type { SequencePhase } from './phases.ts';

const stages: Record<Sequence, TalosStage> = {
  install: 'installing',
  reboot: 'rebooting',
  shutdown: 'shutting down',
  reset: 'resetting',
  upgrade: 'upgrading',
  stageUpgrade: 'upgrading',
};

/** Stages in which Talos keeps its Node cordoned (talos: controllers/k8s/node_cordoned_spec.go). */
const cordoning: ReadonlySet<TalosStage> = new Set(['shutting down', 'upgrading', 'resetting']);

/**
 * The sequences that may replace a running one (talos: runtime/sequencer.go). No other may; a boot is replaced by any
 * of these.
 */
const interruptibleBy: Partial<Record<Sequence, readonly Sequence[]>> = { reboot: ['reboot'], reset: ['reboot'] };

/**
 * Starts a sequence in the background and returns its actor at once. The caller learns of no failure, not even of the
 * conflict with a running sequence. `takesOver`: replaces every running sequence.
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
    node.log(`${sequence} failed: locked`);
    return actorId;
  }
  running?.abort.abort(new Error(`${sequence} takes over`));
  const abort = new AbortController();
  node.running = { sequence, abort };
  node.setStage(stages[sequence]);
  if (cordoning.has(stages[sequence])) cordonNode(node);
  node.spawn(sequence, async () => {
    try {
      await runPhases(node, sequence, phases, AbortSignal.any([node.signal, abort.signal]));
      node.end(ending);
    } catch (error) {
      if (node.signal.aborted || abort.signal.aborted) return;
      node.running = undefined;
      const message = error instanceof Error ? error.message : String(error);
      node.log(`${sequence} failed: ${message}`);
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
  signal: AbortSignal,
): Promise<void> {
  const sleep = (seconds: number) => node.world.clock.sleep(seconds, signal);
  for (const [index, { name, run }] of phases.entries()) {
    node.log(`phase ${name} (${index + 1}/${phases.length}): 1 tasks(s)`);
    try {
      await run?.(sleep);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`error running phase ${index + 1} in ${sequence} sequence: task 1/1: failed, ${reason}`, {
        cause: error,
      });
    }
    signal.throwIfAborted();
  }
}
