import { renderMachineConfig } from '../../src/talos/machine-config.ts';
import { createSecretsBundle } from '../../src/talos/secrets.ts';
import { missingPeers } from '../peers/find.ts';
import { exampleInput } from '../talos/example.ts';
import { runTalosctl, talosctl } from '../talos/talosctl.ts';
import { type Bench, median, ms, ratio, timed } from './figure.ts';

const rounds = 7;
const roles = ['controlplane', 'controlplane', 'controlplane', 'worker', 'worker', 'worker'] as const;

/** Secrets of one cluster and the documents of three control planes and three workers. */
async function ours(): Promise<void> {
  const bundle = await createSecretsBundle({ now: new Date() });
  for (const [i, role] of roles.entries()) renderMachineConfig(exampleInput(bundle, { role, hostname: `n-${i}` }));
}

/** The same by processes. Its documents know neither addresses nor disks: it does less. */
function theirs(): void {
  const program = talosctl ?? '';
  const secrets = runTalosctl(program, ['gen', 'secrets', '-o', 's.yaml'], {}, 's.yaml');
  for (const role of roles) {
    const words = ['gen', 'config', 'c', 'https://192.0.2.1:6443', '--with-secrets', 's.yaml', '-t', role, '-o', '-'];
    runTalosctl(program, words, { 's.yaml': secrets });
  }
}

export const documents: Bench = {
  name: 'Secrets and configurations',
  missing: missingPeers('talosctl'),
  async measure() {
    const [mine, others]: [number[], number[]] = [[], []];
    await ours();
    for (let round = 0; round < rounds; round += 1) {
      mine.push(await timed(ours));
      others.push(await timed(theirs));
    }
    const words = `${ms(median(mine))} ÷ ${ms(median(others))}, medians of ${rounds}`;
    const what = 'Secrets and 3 + 3 machine configurations in process ÷ `talosctl gen secrets` and `gen config`';
    return [ratio(what, median(mine), median(others), 1, words)];
  },
};
