const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Bytes as Talos prints them: in powers of ten, with one decimal below ten (go-humanize: Bytes). */
export function formatSize(bytes: number): string {
  if (bytes < 10) return `${bytes} B`;
  const power = Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  const value = Math.floor((bytes / 1000 ** power) * 10 + 0.5) / 10;
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[power]}`;
}
