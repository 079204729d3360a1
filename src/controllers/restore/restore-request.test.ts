import { expect, it } from 'vitest';
import { annotations } from '../../api/names.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import { ProviderError } from '../../lib/errors.ts';
import { readRestoreRequest } from './restore-request.ts';

const read = (notes: Record<string, string>) => readRestoreRequest({ metadata: { annotations: notes } } as Cluster);

it('a request is two annotations', () => {
  expect(read({ [annotations.restoreIdentity]: 's' })).toBeUndefined();
  expect(read({ [annotations.restore]: 'k', [annotations.restoreIdentity]: 's' })).toEqual({ key: 'k', identity: 's' });
});

it.each([undefined, '', 'A', '../x', 'a'.repeat(254)])('%j is no name of a Secret', (identity) => {
  const problem = read({
    [annotations.restore]: 'k',
    ...(identity === undefined ? {} : { [annotations.restoreIdentity]: identity }),
  });
  expect(problem).toBeInstanceOf(ProviderError);
  expect(String(problem)).toContain(`metadata.annotations[${annotations.restoreIdentity}]: name the Secret`);
});
