import { beforeAll, describe, expect, it } from 'vitest';
import { exampleConfigInput, exampleSecretsBundle } from '../../../../test/talos/example-config.ts';
import type { SecretsBundle } from '../../secrets/secrets-bundle.ts';
import type { ConfigDocument } from '../config-document.ts';
import { type ConfigPatch, findConfigProblems } from '../machine-config.ts';
import { tryPatches } from './apply-patches.ts';

let bundle: SecretsBundle;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
});

const asPatches = (documents: readonly ConfigDocument[]): ConfigPatch[] =>
  documents.map((document, i) => ({ from: `patches[${i}]`, document }));

/** Counts how often the values of patches are inspected, independently of the time of one inspection. */
function looksAt(count: number): number {
  let reads = 0;
  const documents = Array.from({ length: count }, (_, i) => ({
    machine: {
      sysctls: { [`a.b${i}`]: '1' },
      get type() {
        reads += 1;
        return 'worker';
      },
    },
  }));
  findConfigProblems(exampleConfigInput(bundle, { patches: asPatches(documents) }));
  return reads;
}

describe('the cost of patches', () => {
  it('grows linearly with their number', () => {
    const [few, many] = [looksAt(16), looksAt(64)];
    expect(many / few).toBeLessThan(5);
  });

  it('is bounded when each patch causes its own problem, and all problems are reported', () => {
    const labels = (i: number) => Object.fromEntries(Array.from({ length: 100 }, (_, k) => [`l${i}-${k}`, '!']));
    const documents = Array.from({ length: 96 }, (_, i) => ({ machine: { nodeLabels: labels(i) } }));
    const problems = findConfigProblems(exampleConfigInput(bundle, { patches: asPatches(documents) }));
    expect(problems).toHaveLength(9600);
    expect(problems.at(-1)).toMatchObject({ from: 'patches[95]' });
    const blamed = new Set(problems.flatMap(({ from }) => from ?? []));
    expect(blamed.size).toBeGreaterThan(5);
    expect(blamed.size).toBeLessThan(20);
  });

  it('permits attribution of each problem to one of many ordinary patches', () => {
    const documents = Array.from({ length: 60 }, (_, i) => ({ machine: { nodeLabels: { [`l${i}`]: '!' } } }));
    const problems = findConfigProblems(exampleConfigInput(bundle, { patches: asPatches(documents) }));
    expect(problems.map(({ from }) => from)).toEqual(documents.map((_, i) => `patches[${i}]`));
  });

  it('is bounded in the message: it names the first unknown keys and the number of the others', () => {
    const machine = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`x${i}`, 1]));
    const [problem] = findConfigProblems(exampleConfigInput(bundle, { patches: asPatches([{ machine }]) }));
    expect(problem?.message).toMatch(/^machine\.x0 does not exist; .*machine\.x9 does not exist; and 390 more\.$/);
  });
});

describe('lists', () => {
  const many = 1000;
  const elements = Array.from({ length: many }, (_, i) => ({ url: `https://h${i}`, token: `t${i % 2}` }));
  const base = [{ kind: 'X', name: '' }];
  const apply = (list: unknown[], ...more: unknown[][]) => {
    const main = (extraVolumes: unknown[]) => ({ cluster: { apiServer: { extraVolumes } } });
    const patched = tryPatches([main(list), ...base], asPatches(more.map(main)), '1.13.9');
    return 'problem' in patched
      ? patched.problem.message
      : (patched.documents[0] as ReturnType<typeof main>).cluster.apiServer.extraVolumes;
  };
  const volume = (i: number) => ({ hostPath: `/a${i}`, mountPath: `/b${i % 3}`, readonly: true });

  it('lose the first matching element with each deletion', () => {
    const list = Array.from({ length: 9 }, (_, i) => volume(i));
    const drop = (mountPath: string) => ({ $patch: 'delete', mountPath });
    expect(apply(list, [drop('/b1'), volume(10), drop('/b1'), drop('/b2')])).toEqual(
      [0, 3, 5, 6, 7, 8, 10].map(volume),
    );
    expect(apply(list, [drop('/b1'), drop('/b1'), drop('/b1'), drop('/b1')])).toMatch(
      /there is no element with mountPath: \/b1 to delete/,
    );
    expect(elements).toHaveLength(many);
  });

  it('with elements that are compared with each other have a maximum length', () => {
    const interfaces = Array.from({ length: 300 }, (_, i) => ({ interface: `eth${i}`, mtu: 1500 }));
    const [problem] = findConfigProblems(
      exampleConfigInput(bundle, { patches: asPatches([{ machine: { network: { interfaces } } }]) }),
    );
    expect(problem).toEqual({
      from: 'patches[0]',
      message: 'machine.network.interfaces has more than 256 elements.',
    });
  });
});
