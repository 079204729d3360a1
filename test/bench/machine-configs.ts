import { renderMachineConfig } from '../../src/talos/config/machine-config.ts';
import { createSecretsBundle } from '../../src/talos/secrets/secrets-bundle.ts';
import { missingPeers } from '../peers/find-peer.ts';
import { exampleConfigInput } from '../talos/example-config.ts';
import { runTalosctl, talosctl } from '../talos/talosctl.ts';
import { type Benchmark, elapsedMs, formatMs, median, ratioMeasurement } from './measurement.ts';

const schedule = 7;
const roles = ['controlplane', 'controlplane', 'controlplane', 'worker', 'worker', 'worker'] as const;

/** Secrets of one cluster and the documents of three control planes and three workers. */
async function renderInProcess(): Promise<void> {
  const bundle = await createSecretsBundle({ now: new Date() });
  for (const [i, role] of roles.entries())
    renderMachineConfig(exampleConfigInput(bundle, { role, hostname: `n-${i}` }));
}

/** The same with talosctl processes. Their documents contain neither addresses nor disks, so they do less. */
function renderWithTalosctl(): void {
  const program = talosctl ?? '';
  const secrets = runTalosctl(program, ['gen', 'secrets', '-o', 's.yaml'], {}, 's.yaml');
  for (const role of roles) {
    const words = ['gen', 'config', 'c', 'https://192.0.2.1:6443', '--with-secrets', 's.yaml', '-t', role, '-o', '-'];
    runTalosctl(program, words, { 's.yaml': secrets });
  }
}

export const machineConfigBenchmark: Benchmark = {
  name: 'Secrets and configurations',
  missing: missingPeers('talosctl'),
  async measure() {
    const [mine, others]: [number[], number[]] = [[], []];
    await renderInProcess();
    for (let round = 0; round < schedule; round += 1) {
      mine.push(await elapsedMs(renderInProcess));
      others.push(await elapsedMs(renderWithTalosctl));
    }
    const words = `${formatMs(median(mine))} ÷ ${formatMs(median(others))}, medians of ${schedule}`;
    const what = 'Secrets and 3 + 3 machine configurations in process ÷ `talosctl gen secrets` and `gen config`';
    return [ratioMeasurement(what, median(mine), median(others), 1, words)];
  },
};
