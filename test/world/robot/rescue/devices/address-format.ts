/** An IPv4 address in the form of the kernel's tables: eight hexadecimal digits, last byte first. */
export const hexAddress = (address: string): string =>
  address
    .split('.')
    .reverse()
    .map((part) => Number(part).toString(16).toUpperCase().padStart(2, '0'))
    .join('');

const toNumber = (address: string): number => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
const toAddress = (value: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');

/** First and last address of the network of an address. */
export function networkRange(address: string, prefix: number): { readonly first: string; readonly last: string } {
  const size = 2 ** (32 - prefix);
  const first = Math.floor(toNumber(address) / size) * size;
  return { first: toAddress(first), last: toAddress(first + size - 1) };
}

/** The link-local IPv6 address that follows from a MAC. */
export function linkLocal(mac: string): string {
  const bytes = mac.split(':').map((part) => Number.parseInt(part, 16));
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = bytes;
  const words = [((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe00 | d, (e << 8) | f];
  return `fe80::${words.map((word) => word.toString(16)).join(':')}`;
}
