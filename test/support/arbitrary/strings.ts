import fc from 'fast-check';

/** Lower-case letters, digits and dashes, as in most names. */
export const dnsLabel = (longest = 12): fc.Arbitrary<string> =>
  fc.stringMatching(new RegExp(`^[a-z]([a-z0-9-]{0,${longest - 2}}[a-z0-9])?$`));

/** `a.example.org` */
export const arbitraryHostName = dnsLabel(8).map((label) => `${label}.example.org`);

/** Of the documentation ranges, which no network uses. */
export const documentationAddress = fc.integer({ min: 1, max: 254 }).map((last) => `198.51.100.${last}`);

/** `example.org/disk`, or without the prefix. */
export const labelKey = fc
  .tuple(fc.boolean(), dnsLabel(10))
  .map(([prefixed, name]) => (prefixed ? `example.org/${name}` : name));

export const labelValue = fc.oneof(
  fc.constant(''),
  fc.stringMatching(/^[A-Za-z0-9]([A-Za-z0-9_.-]{0,8}[A-Za-z0-9])?$/),
);

/** A list of distinct items of `all`, in the order of `all`. */
export const subsetOf = <T>(all: readonly T[], max = all.length): fc.Arbitrary<T[]> =>
  fc.subarray([...all], { maxLength: Math.min(max, all.length) });
